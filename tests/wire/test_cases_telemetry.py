"""The wire cases on telemetry: spans as an exporter gets them, and the success of tool calls."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from deskwork.tasks.model_errors import Rejected
from deskwork.tasks.profiles import find_profile
from deskwork.tasks.records import usage_rows
from deskwork.tasks.telemetry import CONTENT_SWITCH
from deskwork.tools.errors import ToolError
from deskwork.tools.tool import ToolResult, tool
from tests.jobs import answer, opened
from tests.wire.conformance import case, named, staged

_EXPORTER = InMemorySpanExporter()
_READER = InMemoryMetricReader()


@pytest.fixture(scope="module", autouse=True)
def _provider() -> None:
    """The SDK as a user sets it up; a process has one provider, for good."""
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    provider.add_span_processor(SimpleSpanProcessor(_EXPORTER))
    metrics.set_meter_provider(MeterProvider([_READER]))


@pytest.fixture(autouse=True)
def _no_content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CONTENT_SWITCH, raising=False)


@contextlib.contextmanager
def spans() -> Iterator[list[ReadableSpan]]:
    """The spans that end inside, ours alone."""
    _EXPORTER.clear()
    found: list[ReadableSpan] = []
    yield found
    found += [
        span
        for span in _EXPORTER.get_finished_spans()
        if span.instrumentation_scope and span.instrumentation_scope.name == "deskwork"
    ]


def of(span: ReadableSpan) -> dict[str, Any]:
    """A span's attributes as JSON has them."""
    attributes: dict[str, Any] = json.loads(json.dumps(dict(span.attributes or {})))
    return attributes


def whole(body: dict[str, Any]) -> dict[str, Any]:
    return {"status": 200, "headers": {"content-type": "application/json"}, "body": body}


def calling(name: str, arguments: str = "{}", call_id: str = "a", **more: Any) -> dict[str, Any]:
    call = {"id": call_id, "function": {"name": name, "arguments": arguments}}
    choice = {"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}
    return whole({"id": "r1", "model": "kimi-k3-0711", "choices": [choice | more]})


@case("otel-chat-span")
async def test_one_span_a_call_with_its_attempts(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    given = given_case["given"]["call"]
    used = given["usage"]
    response = calling("f")
    response["body"]["usage"] = {
        "prompt_tokens": used["input"],
        "completion_tokens": used["output"],
        "prompt_tokens_details": {"cached_tokens": used["cache_read"]},
        "completion_tokens_details": {"reasoning_tokens": used["reasoning"]},
    }
    busy = {"status": 503, "headers": {"retry-after": "0"}, "body": {"error": {"message": "key"}}}
    profile = find_profile("moonshot", None, None)
    with staged(busy, response) as (url, _), spans() as found:
        async with opened(tmp_path, None, url=url, profile=profile, tools=[named("f")]) as session:
            session.settings = session.settings.with_model(given["model"])
            assert await answer(session, tier="max") == "Done."
    first, _, last = found
    assert (first.name, first.kind) == ("chat kimi-k3", SpanKind.CLIENT)
    expected = given_case["expect"]["parsed"]
    attributes = of(first)
    assert {name: attributes.get(name) for name in expected} == expected
    assert attributes["gen_ai.conversation.id"] == "job/1"
    assert attributes["gen_ai.response.id"] == "r1"
    assert attributes["gen_ai.response.model"] == "kimi-k3-0711"
    attempts = [dict(event.attributes or {}) for event in first.events]
    assert [attempt["deskwork.attempt"] for attempt in attempts] == [1, 2]
    assert [attempt.get("error.type") for attempt in attempts] == ["Unavailable", None]
    assert len(last.events) == 1
    assert "gen_ai.usage.cache_write.input_tokens" not in attributes


@case("otel-chat-span")
async def test_a_call_that_fails_says_as_what(given_case: dict[str, Any], tmp_path: Path) -> None:
    secret = {"error": {"message": "Line 3 of the contract is bad"}}
    with staged({"status": 400, "headers": {}, "body": secret}) as (url, _), spans() as found:
        async with opened(tmp_path, None, url=url) as session:
            with pytest.raises(Rejected):
                await answer(session)
    (span,) = found
    assert of(span)["error.type"] == "Rejected"
    assert not span.status.is_ok
    assert "contract" not in span.to_json()


@case("otel-anthropic-input-total")
async def test_input_tokens_include_the_cache(given_case: dict[str, Any], tmp_path: Path) -> None:
    body = {
        "id": "m",
        "content": [{"type": "text", "text": "x"}],
        "stop_reason": "end_turn",
        "usage": {**given_case["given"]["usage_wire"], "output_tokens": 1},
    }
    profile = find_profile("anthropic", None, None)
    with staged(whole(body)) as (url, _), spans() as found:
        async with opened(tmp_path, None, url=url, profile=profile) as session:
            assert await answer(session) == "x"
    expected = given_case["expect"]["parsed"]
    attributes = of(found[0])
    assert {name: attributes.get(name) for name in expected} == expected
    assert attributes["gen_ai.request.max_tokens"] == profile.max_output


@tool(repeatable=True)
def bash(command: str) -> ToolResult:
    """Run a command."""
    if command == "sleep":
        raise TimeoutError("10 s")
    if command == "false":
        raise ToolError("exit code 1")
    return ToolResult(text="secret output")


@case("otel-tool-span")
@pytest.mark.parametrize("content", [False, True])
async def test_a_tool_s_span(
    given_case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bool
) -> None:
    if content:
        monkeypatch.setenv(CONTENT_SWITCH, "true")
    asks = [calling("bash", '{"command":"sleep"}'), calling("bash", '{"command":"ls"}')]
    with staged(*asks) as (url, _), spans() as found:
        async with opened(tmp_path, None, url=url, tools=[bash]) as session:
            assert await answer(session) == "Done."
    failed, fine = [span for span in found if span.name == "execute_tool bash"]
    assert failed.kind == SpanKind.INTERNAL
    expected = given_case["expect"]["parsed"]
    attributes = of(failed)
    assert {name: attributes.get(name) for name in expected} == expected
    assert "error.type" not in of(fine)
    texts = "".join(span.to_json() for span in found)
    assert ("secret output" in texts) == content
    assert ("sleep" in texts) == content
    assert ("Done." in texts) == content


def points() -> dict[str, list[Any]]:
    """What was measured since the process began: name → data points."""
    data = _READER.get_metrics_data()
    found: dict[str, list[Any]] = {}
    for resource in data.resource_metrics if data else ():
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                found[metric.name] = list(metric.data.data_points)
    return found


async def test_durations_and_tokens_are_measured(tmp_path: Path) -> None:
    response = calling("bash", '{"command":"false"}')
    response["body"]["usage"] = {"prompt_tokens": 70, "completion_tokens": 3}
    with staged(response) as (url, _):
        async with opened(tmp_path, None, url=url, tools=[bash]) as session:
            session.settings = session.settings.with_model("measured")
            assert await answer(session) == "Done."
    found = points()
    (calls,) = [
        point
        for point in found["gen_ai.client.operation.duration"]
        if point.attributes["gen_ai.request.model"] == "measured"
    ]
    assert calls.count == 2
    sums = {
        point.attributes["gen_ai.token.type"]: (point.max, point.count)
        for point in found["gen_ai.client.token.usage"]
        if point.attributes["gen_ai.request.model"] == "measured"
    }
    assert sums["output"] == (3, 2)
    failures = [
        point.attributes
        for point in found["gen_ai.execute_tool.duration"]
        if point.attributes.get("error.type") == "error"
    ]
    assert failures == [
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "bash",
            "gen_ai.tool.type": "function",
            "error.type": "error",
        }
    ]


@case("metrics-tool-success")
async def test_tool_calls_are_counted_by_outcome_and_tier(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    acts = {
        "ok": calling("bash", '{"command":"ls"}'),
        "invalid_json": calling("bash", '{"command":'),
        "unknown_tool": calling("zsh"),
        "schema_error": calling("bash", '{"order":"ls"}'),
        "raised": calling("bash", '{"command":"false"}'),
        "timeout": calling("bash", '{"command":"sleep"}'),
        "not_run_truncated": calling("bash", '{"command":"l', finish_reason="length"),
    }
    responses = [acts[name] for name in given_case["given"]["calls"]]
    with staged(*responses) as (url, _):
        async with opened(tmp_path, None, url=url, tools=[bash]) as session:
            assert await answer(session) == "Done."
            journal = session.writer.journal
    by_tier, by_tool = await asyncio.gather(
        asyncio.to_thread(usage_rows, journal, "budget"),
        asyncio.to_thread(usage_rows, journal, "tool"),
    )
    expected = dict(given_case["expect"]["parsed"])
    total = expected.pop("total")
    (row,) = by_tier
    assert row["budget"] == "high"
    assert row["tools"] == {"calls": total, **expected}
    rows = {row["tool"]: row for row in by_tool}
    assert rows["zsh"]["format_error"] == rows["zsh"]["unknown_tool"] == 1
    bash_row = rows["bash"]
    assert bash_row["calls"] == 6
    names = ("invalid_json", "schema_error", "error", "timeout", "not_run")
    assert {name: bash_row.get(name) for name in names} == dict.fromkeys(names, 1)
    assert (bash_row["ok"], bash_row["format_error"], bash_row["execution_error"]) == (1, 2, 2)
    assert bash_row["budgets"]["high"]["calls"] == 6
