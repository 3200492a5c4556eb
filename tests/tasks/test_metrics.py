"""The numbers for Prometheus are the journal's: a kill loses none, and `usage` says the same."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from prometheus_client import generate_latest, start_http_server
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import CollectorRegistry

from deskwork.flows.command import cli
from deskwork.tasks.blobs import open_blobs
from deskwork.tasks.entries import Draft
from deskwork.tasks.forks import fork
from deskwork.tasks.journal import Journal
from deskwork.tasks.local_model import Said, ScriptedModel
from deskwork.tasks.metrics import JournalCollector, registry_of
from deskwork.tasks.numbers import UNKNOWN_TOOL, Numbers
from deskwork.tasks.settings import load_settings
from deskwork.tasks.usage import usage_rows
from tests.jobs import answer, opened

Sample = tuple[str, tuple[tuple[str, str], ...]]


def model() -> ScriptedModel:
    return ScriptedModel(
        [
            Said(calls=[("echo", {"text": "one"}), ("fail", {"text": "two"})]),
            Said(calls=[("nothing", {})]),
            Said("Done."),
        ]
    )


def samples(text: str) -> dict[Sample, float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def of(registry: CollectorRegistry) -> dict[Sample, float]:
    return samples(generate_latest(registry).decode())


def total(found: dict[Sample, float], name: str, **labels: str) -> float:
    wanted = set(labels.items())
    return sum(v for (n, given), v in found.items() if n == name and wanted <= set(given))


async def test_the_metrics_are_what_usage_says_to_the_token(tmp_path: Path) -> None:
    async with opened(tmp_path, model()) as session:
        await answer(session)
    journal = Journal.open(None, tmp_path)
    # The entries that a fork copies were paid for once.
    fork(journal, open_blobs(None, tmp_path), "job", 7, "forked")
    found = of(registry_of(journal))
    (used,) = usage_rows(journal, "model")
    for kind in ("input", "output"):
        assert total(found, "deskwork_tokens_total", kind=kind) == used[kind] > 0
    assert total(found, "deskwork_model_calls_total", budget="high") == used["calls"] > 2
    assert used["tools"]["calls"] == total(found, "deskwork_tool_calls_total")
    for row in usage_rows(journal, "tool"):
        for outcome in ("ok", "format_error", "execution_error"):
            tool = UNKNOWN_TOOL if row["tool"] == "nothing" else row["tool"]
            counted = total(found, "deskwork_tool_calls_total", tool=tool, outcome=outcome)
            assert counted == row.get(outcome, 0)
    assert total(found, "deskwork_jobs", flow="ask") == 2
    journal.database.close()


async def test_a_look_reads_what_is_new_and_a_restart_counts_nothing_twice(tmp_path: Path) -> None:
    journal = Journal.open(None, tmp_path)
    registry = registry_of(journal)
    assert total(of(registry), "deskwork_model_calls_total") == 0
    for number in (1, 2):
        async with opened(tmp_path, model(), job=f"job{number}") as session:
            await answer(session)
        for found in (of(registry), of(registry), of(registry_of(journal))):
            assert total(found, "deskwork_model_calls_total") == 3 * number
    journal.database.close()


async def test_a_silent_job_and_one_that_waits_are_told(tmp_path: Path) -> None:
    async with opened(tmp_path, model()) as session:
        await answer(session)
        journal = session.writer.journal
        (_, made) = journal.heads()["job"]
        registry = CollectorRegistry()
        registry.register(JournalCollector(Numbers(journal, clock=lambda: made + 100)))
        assert total(of(registry), "deskwork_silent_seconds") == pytest.approx(100)
        assert total(of(registry), "deskwork_waiting_seconds") == 0
        session.writer.release("waiting for a person", "?")
        found = of(registry)
        assert total(found, "deskwork_silent_seconds") == 0
        assert total(found, "deskwork_waiting_seconds") == pytest.approx(100, abs=5)
        assert total(found, "deskwork_jobs", state="waiting for a person") == 1


async def test_it_is_served_and_printed(tmp_path: Path) -> None:
    home = load_settings().home
    async with opened(home, model()) as session:
        await answer(session)
    printed = CliRunner().invoke(cli, ["metrics", "--once"])
    assert printed.exit_code == 0
    assert total(samples(printed.output), "deskwork_model_calls_total", model="test-model") == 3
    journal = Journal.open(None, home)
    server, thread = start_http_server(0, "127.0.0.1", registry_of(journal))
    try:
        url = f"http://127.0.0.1:{server.server_port}/metrics"
        served = await asyncio.to_thread(httpx.get, url)
        assert total(samples(served.text), "deskwork_model_calls_total") == 3
        assert "# HELP deskwork_tokens_total Tokens that model calls used." in served.text
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        journal.database.close()


def test_a_look_works_on_either_database(tmp_path: Path, database_url: str | None) -> None:
    journal = Journal.open(database_url, tmp_path)
    registry = registry_of(journal)
    for name in ("one", "two"):
        start = Draft("start", {"v": 1, "flow": "ask"})
        journal.create(name, flow="ask", key=name, title="?", start=start, parent=None)
        journal.acquire(name).release("stopped")
    assert total(of(registry), "deskwork_jobs", flow="ask", state="stopped") == 2
    journal.database.close()
