"""A collector on loopback gets a job's spans and the journal's numbers, as protobuf over HTTP."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from deskwork.flows.command import cli
from deskwork.tasks import machine
from deskwork.tasks.journal import Journal
from deskwork.tasks.local_model import Said, ScriptedModel
from deskwork.tasks.local_server import Exchange, serve
from deskwork.tasks.settings import load_settings
from deskwork.tasks.usage import usage_rows
from tests.jobs import answer, opened
from tests.ui.conftest import COMMAND

TEXT = "Net sales rose 7.8% to 842.6 million euros in fiscal 2025."


@contextlib.contextmanager
def collector(status: int = 200) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """Its address, and what it was sent: (path, body)."""
    came: list[tuple[str, bytes]] = []

    def respond(path: str, body: bytes, exchange: Exchange) -> None:
        came.append((path, body))
        exchange.start(status, "application/x-protobuf")
        exchange.chunk(b"")

    with serve(respond) as url:
        yield url.removesuffix("/v1"), came


def attributes(of: Any) -> dict[str, Any]:
    return {
        one.key: getattr(one.value, str(one.value.WhichOneof("value"))) for one in of.attributes
    }


async def test_numbers_are_pushed_and_agree_with_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    said = [Said(calls=[("echo", {"text": "one"}), ("nothing", {})]), Said("Done.")]
    async with opened(load_settings().home, ScriptedModel(said)) as session:
        await answer(session)
    with collector() as (url, came):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        done = CliRunner().invoke(cli, ["metrics", "--push", "--once"])
        assert done.exit_code == 0, done.output
    ((path, body),) = came
    assert path == "/v1/metrics"
    (resource,) = ExportMetricsServiceRequest.FromString(body).resource_metrics
    assert attributes(resource.resource)["service.name"] == "deskwork"
    found = {metric.name: metric for metric in resource.scope_metrics[0].metrics}
    journal = Journal.open(None, load_settings().home)
    (used,) = usage_rows(journal, "model")
    journal.database.close()
    tokens = {
        attributes(point)["gen_ai.token.type"]: point.as_double
        for point in found["deskwork.tokens"].sum.data_points
    }
    assert (tokens["input"], tokens["output"]) == (used["input"], used["output"])
    assert found["deskwork.tokens"].sum.is_monotonic
    sizes = {
        attributes(point)["gen_ai.token.type"]: (point.count, point.sum)
        for point in found["gen_ai.client.token.usage"].histogram.data_points
    }
    assert sizes == {"input": (2, used["input"]), "output": (2, used["output"])}
    (calls,) = found["gen_ai.client.operation.duration"].histogram.data_points
    assert sum(calls.bucket_counts) == calls.count == 2
    assert len(calls.bucket_counts) == len(calls.explicit_bounds) + 1
    assert attributes(calls)["gen_ai.request.model"] == "test-model"
    (jobs,) = found["deskwork.jobs"].gauge.data_points
    assert attributes(jobs) == {"gen_ai.agent.name": "ask", "deskwork.state": "stopped"}


def test_a_collector_that_refuses_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with collector(400) as (url, _):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        done = CliRunner().invoke(cli, ["metrics", "--push", "--once"])
    assert "did not take the numbers" in str(done.exception)
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT")
    done = CliRunner().invoke(cli, ["metrics", "--push"])
    assert "No OpenTelemetry collector is named" in str(done.exception)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    done = CliRunner().invoke(cli, ["metrics", "--push"])
    assert "Deskwork speaks http/protobuf" in str(done.exception)


def test_a_job_s_calls_are_spans_below_its_run(tmp_path: Path) -> None:
    home, files = tmp_path / "home", tmp_path / "files"
    files.mkdir()
    (files / "results.md").write_text(TEXT)
    with collector() as (url, came):
        env = {**os.environ, "DESKWORK_HOME": str(home), "OTEL_EXPORTER_OTLP_ENDPOINT": url}
        command = [str(COMMAND), "ask", "How did net sales develop?", "--files", str(files)]
        try:
            subprocess.run(command, env=env, check=True, capture_output=True, timeout=240)
        finally:
            machine.down(home)
    bodies = [body for path, body in came if path == "/v1/traces"]
    spans = [
        span
        for body in bodies
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    (root,) = [span for span in spans if not span.parent_span_id]
    assert root.name == "invoke_agent ask"
    below = {span.name for span in spans if span.parent_span_id == root.span_id}
    assert {"chat built-in", "execute_tool search_documents"} <= below
    assert {span.trace_id for span in spans} == {root.trace_id}
    assert TEXT.encode() not in b"".join(bodies)
