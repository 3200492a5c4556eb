"""Dashboard and alert rules: queries that parse, over metrics that the engines export."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from deskwork.tasks.journal import Journal
from deskwork.tasks.metrics import registry_of
from tests.deployments import manifests

WATCHING = manifests.DEPLOYMENTS / "watching"
DASHBOARD: dict[str, Any] = json.loads((WATCHING / "engines.json").read_text())
OWN: dict[str, Any] = json.loads((WATCHING / "deskwork.json").read_text())
RULES: list[dict[str, Any]] = [
    yaml.safe_load((WATCHING / f"{name}.rules.yaml").read_text())
    for name in ("engines", "deskwork")
]
EMPTY = Journal.open(None, Path(tempfile.mkdtemp()))
_SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "gauge": ("",), "counter": ("_total",)}


def exported() -> set[str]:
    """The series of Deskwork, the engines and the DCGM exporter, as Prometheus names them."""
    found = {"up", *(family.name for family in registry_of(EMPTY).collect())}
    found |= {f"{name}_total" for name in found}
    for source in json.loads((WATCHING / "metrics.json").read_text()).values():
        for name, kind in source["metrics"].items():
            stem = name.removesuffix("_total") if kind == "counter" else name
            found |= {stem + suffix for suffix in _SUFFIXES.get(kind, ("",))}
    return found


def series(query: str) -> Iterator[str]:
    """The names of the series that a query reads; raises ValueError if it does not parse."""
    text = re.sub(r"\$__rate_interval", "5m", query).replace("$model", ".*")
    names: list[str] = []

    def visit(node: Any) -> bool:
        if isinstance(node, promql_parser.VectorSelector):
            names.append(str(node.name))
        return True

    promql_parser.walk(promql_parser.parse(text), visit)
    yield from names


PANELS = [p for board in (DASHBOARD, OWN) for p in board["panels"] if p["type"] != "row"]
ALERTS = [rule for rules in RULES for group in rules["groups"] for rule in group["rules"]]


@pytest.mark.parametrize("panel", PANELS, ids=lambda p: p["title"])
def test_a_panel_s_queries_parse_and_read_what_is_exported(panel: dict[str, Any]) -> None:
    assert panel["fieldConfig"]["defaults"]["unit"]
    for target in panel["targets"]:
        names = list(series(target["expr"]))
        assert names
        assert set(names) <= exported()
        assert target["legendFormat"]
        assert target["datasource"]["uid"] == "${source}"


@pytest.mark.parametrize("rule", ALERTS, ids=lambda r: r["alert"])
def test_an_alert_parses_reads_what_is_exported_and_says_what_to_do(rule: dict[str, Any]) -> None:
    names = list(series(rule["expr"]))
    assert names
    assert set(names) <= exported()
    assert re.fullmatch(r"\d+m", rule.get("for", "0m"))
    assert rule["labels"]["severity"] in ("info", "warning", "critical")
    assert rule["annotations"]["summary"].endswith(".")
    assert rule["annotations"]["description"].endswith(".")


def test_both_engines_are_watched_alike() -> None:
    shown = {n for p in PANELS for t in p["targets"] for n in series(t["expr"])}
    for subject in ("throughput", "queue", "cache"):
        wanted = {
            "throughput": ("vllm:generation_tokens_total", "sglang:generation_tokens_total"),
            "queue": ("vllm:num_requests_waiting", "sglang:num_queue_reqs"),
            "cache": ("vllm:prefix_cache_hits_total", "sglang:cached_tokens_total"),
        }[subject]
        assert set(wanted) <= shown
    assert "DCGM_FI_DEV_FB_USED" in shown


def test_a_query_over_no_metric_of_the_engines_is_found_out() -> None:
    assert not set(series("rate(vllm:generated_tokens_total[5m])")) <= exported()
    with pytest.raises(ValueError, match="unclosed left parenthesis"):
        list(series("sum(rate(vllm:prompt_tokens_total[5m])"))


@pytest.mark.parametrize(
    ("board", "variables"),
    [(DASHBOARD, {"source", "model"}), (OWN, {"source"})],
    ids=["engines", "deskwork"],
)
def test_a_dashboard_is_whole(board: dict[str, Any], variables: set[str]) -> None:
    identities = [panel["id"] for panel in board["panels"]]
    assert len(identities) == len(set(identities))
    places = [tuple(panel["gridPos"][k] for k in ("x", "y")) for panel in board["panels"]]
    assert len(places) == len(set(places))
    assert {v["name"] for v in board["templating"]["list"]} == variables
    for panel in board["panels"]:
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24


def test_prometheus_scrapes_each_source_and_loads_the_rules() -> None:
    config = yaml.safe_load((WATCHING / "prometheus.yaml").read_text())
    jobs = {job["job_name"]: job for job in config["scrape_configs"]}
    assert jobs.keys() == {"deskwork", "vllm", "sglang", "router", "dcgm"}
    assert jobs["deskwork"]["static_configs"][0]["targets"] == ["localhost:9477"]
    assert all(job["metrics_path"] == "/metrics" for job in jobs.values())
    for pattern in config["rule_files"]:
        assert Path("engines.rules.yaml").match(pattern)
    # The alert on engines that are down names the jobs as they are here.
    down = next(rule["expr"] for rule in ALERTS if rule["alert"] == "EngineDown")
    assert 'job=~"vllm|sglang"' in down
