"""Traces and numbers sent to an OpenTelemetry collector, by OTLP over HTTP.

Where to is OpenTelemetry's own setting: ``OTEL_EXPORTER_OTLP_ENDPOINT`` and its kin, headers and
resource attributes among them. The extra ``otlp`` brings what sends. Numbers come from the journal,
so that a kill loses none; of the traces a kill loses what the last seconds have not sent yet.
"""

from __future__ import annotations

import asyncio
import os
import time
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from opentelemetry import trace

from deskwork.tasks import telemetry
from deskwork.tasks.histogram import Histogram
from deskwork.tasks.numbers import Family, Numbers
from deskwork.tasks.progress import tell
from deskwork.tools.errors import DeskworkError, WrongUse

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricsData
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
LONGEST = 5.0
"""Seconds for which a job's end waits until its last spans are sent."""
_ATTRIBUTES = {
    "model": telemetry.REQUEST_MODEL,
    "budget": telemetry.LEVEL,
    "kind": telemetry.TOKEN_TYPE,
    "tool": telemetry.TOOL_NAME,
    "outcome": "deskwork.tool.outcome",
    "flow": telemetry.AGENT_NAME,
    "state": "deskwork.state",
}
"""The attribute that a label of Prometheus is."""


def is_set(signal: str) -> bool:
    """Whether a collector is named for ``TRACES`` or ``METRICS``, and nothing is switched off."""
    if os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    own = f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"
    return bool(os.environ.get(ENDPOINT) or os.environ.get(own))


def trace_calls(job: str) -> None:
    """Send the spans of this process, if a collector is named; called again, it does nothing.

    A program that has set up OpenTelemetry itself keeps what it has set up. What keeps them from
    being sent is told, and no reason for a job to fail: clusters name their collector to everyone.
    """
    if is_set("TRACES") and isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        try:
            telemetry.use(_provider())
        except WrongUse as error:
            tell("trouble", job, f"No traces are sent. {error}", error="WrongUse")


async def flush() -> None:
    """Send what is left, for as long as is fair."""
    if telemetry.is_own():
        sending = asyncio.to_thread(_provider().force_flush, int(LONGEST * 1000))
        await asyncio.wait({asyncio.ensure_future(sending)}, timeout=LONGEST)


@cache
def _provider() -> TracerProvider:
    _check()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=_resource())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


class NotSent(DeskworkError):
    """The collector did not take the numbers."""


class Push:
    """Sends a journal's numbers, all of them each time: the collector may have forgotten them."""

    def __init__(self, numbers: Numbers) -> None:
        if not is_set("METRICS"):
            raise WrongUse(
                "No OpenTelemetry collector is named.",
                f"Set {ENDPOINT} to its address, such as http://localhost:4318.",
            )
        _check()
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

        self._numbers = numbers
        self._exporter = OTLPMetricExporter()
        self._since = int(min((job.created for job in numbers.journal.jobs()), default=time.time()))

    def send(self) -> None:
        """One look at the journal, sent. Raises `NotSent`, and `StorageError` as `Numbers` does."""
        from opentelemetry.sdk.metrics.export import MetricExportResult

        data = metrics_data(self._numbers.look(), self._since * 10**9, time.time_ns())
        if self._exporter.export(data) is not MetricExportResult.SUCCESS:
            raise NotSent(
                "The OpenTelemetry collector did not take the numbers.",
                f"Check {ENDPOINT}, and that it takes OTLP over HTTP. Nothing is lost: the next "
                "look sends all of them.",
            )


def metrics_data(families: list[Family], since: int, now: int) -> MetricsData:
    """The numbers as OTLP has them, cumulative; times in nanoseconds."""
    from opentelemetry.sdk.metrics import export
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    whole = export.AggregationTemporality.CUMULATIVE

    def point(family: Family, where: tuple[str, ...], value: float) -> export.NumberDataPoint:
        return export.NumberDataPoint(_attributes(family, where), since, now, value)

    def counted(
        family: Family, where: tuple[str, ...], value: Histogram
    ) -> export.HistogramDataPoint:
        return export.HistogramDataPoint(
            attributes=_attributes(family, where),
            start_time_unix_nano=since,
            time_unix_nano=now,
            count=sum(value.counts),
            sum=value.total,
            bucket_counts=value.counts,
            explicit_bounds=value.bounds,
            min=value.least,
            max=value.most,
        )

    metrics = []
    for family in families:
        data: export.Sum | export.Gauge | export.Histogram
        simple = [
            point(family, where, value)
            for where, value in family.values.items()
            if not isinstance(value, Histogram)
        ]
        if family.kind == "histogram":
            rows = [
                counted(family, where, value)
                for where, value in family.values.items()
                if isinstance(value, Histogram)
            ]
            data = export.Histogram(rows, whole)
        elif family.kind == "counter":
            data = export.Sum(simple, whole, is_monotonic=True)
        else:
            data = export.Gauge(simple)
        name = family.name.replace("deskwork_", "deskwork.", 1)
        metrics.append(export.Metric(name, family.text, family.unit or _unit(name), data))
    scope = InstrumentationScope("deskwork", version("deskwork"))
    own = export.ScopeMetrics(scope, metrics, "")
    return export.MetricsData([export.ResourceMetrics(_resource(), [own], "")])


def _unit(name: str) -> str:
    return "s" if name.endswith("_seconds") else "{token}" if name == "deskwork.tokens" else "1"


def _attributes(family: Family, where: tuple[str, ...]) -> dict[str, str]:
    labels = (_ATTRIBUTES.get(label, label) for label in family.labels)
    return dict(zip(labels, where, strict=True))


def _resource() -> Resource:
    from opentelemetry.sdk.resources import Resource

    named = {} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": "deskwork"}
    return Resource.create({**named, "service.version": version("deskwork")})


def _check() -> None:
    """Raise `WrongUse` where nothing can be sent."""
    protocol = os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
    if protocol != "http/protobuf":
        raise WrongUse(
            f"OTEL_EXPORTER_OTLP_PROTOCOL is {protocol!r}, and Deskwork speaks http/protobuf.",
            "Unset it, and name the collector's HTTP port, which is 4318 as a rule.",
        )
    try:
        import opentelemetry.exporter.otlp.proto.http  # noqa: F401
    except ImportError:
        raise WrongUse(
            f"{ENDPOINT} is set, and what sends to a collector isn't installed.",
            "pip install 'deskwork[otlp]', or unset it.",
        ) from None
