"""The journal's numbers in Prometheus' form."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import (
    CollectorRegistry,
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from deskwork.tasks.histogram import Histogram
from deskwork.tasks.journal import Journal
from deskwork.tasks.numbers import Family, Numbers


class JournalCollector(Collector):
    """What Prometheus collects: one look at the journal each time."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers

    def describe(self) -> list[Metric]:
        """Nothing: the names are known without a look at the journal."""
        return []

    def collect(self) -> Iterator[Metric]:
        """One look. Raises `StorageError` where the journal can't be read."""
        return map(_family, self._numbers.look())


def _family(family: Family) -> Metric:
    # OpenTelemetry's rule for its names at Prometheus: underlines, and the unit at the end.
    name = family.name.replace(".", "_") + ("_seconds" if family.unit == "s" else "")
    labels = [label.replace(".", "_") for label in family.labels]
    if family.kind == "histogram":
        histogram = HistogramMetricFamily(name, family.text, labels=labels)
        for where, value in sorted(family.values.items()):
            assert isinstance(value, Histogram)
            histogram.add_metric(where, value.cumulative(), value.total)
        return histogram
    of_kind = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
    simple: CounterMetricFamily | GaugeMetricFamily = of_kind(name, family.text, labels=labels)
    for where, value in sorted(family.values.items()):
        assert not isinstance(value, Histogram)
        simple.add_metric(where, value)
    return simple


def registry_of(journal: Journal) -> CollectorRegistry:
    """A registry that holds the metrics of this journal alone."""
    registry = CollectorRegistry()
    registry.register(JournalCollector(Numbers(journal)))
    return registry
