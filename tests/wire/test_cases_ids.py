"""The wire cases on the ids of tool calls: kept where they can be, renamed the same way always."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deskwork.tasks.limits import Limits
from deskwork.tasks.model_errors import Rejected
from deskwork.tasks.profiles import find_profile
from deskwork.tasks.states import OutOfBudget
from deskwork.tools.tool import ToolResult, tool
from tests.jobs import answer, opened
from tests.wire.conformance import (
    blocks,
    case,
    chat_call,
    completion,
    entries,
    moved,
    named,
    ran,
    staged,
    unmarked,
)

DEEPSEEK = find_profile("deepseek", None, None)


def ids_in(request: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The ids of the calls and those of the results, in order."""
    called = [call["id"] for row in request["messages"] for call in row.get("tool_calls", ())]
    return called, [row["tool_call_id"] for row in request["messages"] if row["role"] == "tool"]


@case("deepseek-duplicate-id")
async def test_a_repeated_id_gets_a_suffix_in_call_and_result(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    expected = given_case["expect"]["next_request"]["second_occurrence"]
    second = expected["assistant.tool_calls[0].id"]
    assert second == expected["tool.tool_call_id"]
    f = named("f", n=int)
    with staged(completion(chat_call("call_0", '{"n":1}'))) as (url, _):
        async with opened(tmp_path, None, url=url, tools=[f]) as session:
            with pytest.raises(OutOfBudget):
                await answer(session, limits=Limits(max_steps=1))
    moved(tmp_path, DEEPSEEK)
    later = [
        completion(chat_call(name, f'{{"n":{n}}}'))
        for n, name in enumerate(("call_1", "call_0", "call_0"), 2)
    ]
    with staged(*later, given_case["given"]["response"]) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=DEEPSEEK, tools=[f]) as session:
            # The server's own refusal of a repeat is not sent again.
            with pytest.raises(Rejected, match="Duplicate value"):
                await answer(session)
            assert entries(session, "assistant")[-2].meta["received"] == {
                "tool_calls.0.id": "call_0"
            }
    assert len(stage.bodies) == 4
    third, last = stage.requests[2:]
    assert ids_in(third) == (["call_0", "call_1", second],) * 2
    assert ids_in(last) == (["call_0", "call_1", second, "call_0_d2"],) * 2
    # The same on every request: the prefix cache stays.
    start = stage.bodies[2].rindex(b'],"stream"')
    assert stage.bodies[3].startswith(stage.bodies[2][:start])
    assert [given["n"] for given in ran(f)] == [1, 2, 3, 4]


@case("deepseek-duplicate-id")
async def test_repeats_in_a_history_of_another_server_get_the_same_suffix(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    expected = given_case["expect"]["next_request"]["second_occurrence"]
    f = named("f", n=int)
    turns = [completion(chat_call("call_0", f'{{"n":{n}}}')) for n in (1, 2)]
    with staged(*turns) as (url, stage):
        async with opened(tmp_path, None, url=url, tools=[f]) as session:
            with pytest.raises(OutOfBudget):
                await answer(session, limits=Limits(max_steps=2))
    assert ids_in(stage.requests[1])[0] == ["call_0"]
    moved(tmp_path, DEEPSEEK)
    with staged() as (url, stage):
        async with opened(tmp_path, None, url=url, profile=DEEPSEEK, tools=[f]) as session:
            assert await answer(session) == "Done."
    assert ids_in(stage.requests[0]) == (["call_0", expected["tool.tool_call_id"]],) * 2


@case("kimi-id-format")
async def test_the_ids_of_kimi_go_back_as_they_came(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    expected = given_case["expect"]["next_request"]["tool_message"]
    before = [
        completion(chat_call(f"functions.{name}:{n}", '{"path":"/"}', name))
        for n, name in enumerate(("ls", "cat"))
    ]
    # A repeat across turns is Kimi's own way, and stays as well.
    again = completion(chat_call("functions.ls:0", '{"path":"/a"}', "ls"))
    tools = [named("ls", path=str), named("cat", path=str)]
    for kind in ("vllm", "sglang"):
        profile = find_profile(kind, None, None)
        with staged(*before, given_case["given"]["response"], again) as (url, stage):
            async with opened(
                tmp_path / kind, None, url=url, profile=profile, tools=tools
            ) as session:
                assert await answer(session) == "Done."
        assert stage.requests[3]["messages"][-1] == {**expected, "content": "fine"}
        ids = ["functions.ls:0", "functions.cat:1", expected["tool_call_id"], "functions.ls:0"]
        assert ids_in(stage.requests[4]) == (ids, ids)


@tool(repeatable=True)
def f(n: int) -> ToolResult:
    """Say a number."""
    return ToolResult(text=f"of {n}")


def results_of(request: dict[str, Any]) -> list[str]:
    return [row["content"] for row in request["messages"] if row["role"] == "tool"]


@case("oai-duplicate-id-one-turn")
async def test_two_calls_with_one_id_are_both_run(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    parsed, response = given_case["expect"]["parsed"], given_case["given"]["response"]
    for kind in ("openai", "vllm", "deepseek"):
        profile = find_profile(kind, "chat", None)
        with staged(response) as (url, stage):
            async with opened(
                tmp_path / kind, None, url=url, profile=profile, tools=[f]
            ) as session:
                assert await answer(session) == "Done."
        called, answered = ids_in(stage.requests[1])
        assert called == answered == ["x", "x_d1"]
        assert len(called) == parsed["calls"]
        assert sum(call_id != "x" for call_id in called) == parsed["renamed"]
        assert results_of(stage.requests[1]) == ["of 1", "of 2"]


@case("oai-duplicate-id-one-turn")
async def test_one_id_of_kimi_stays_and_results_go_by_order(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    text = json.dumps(given_case["given"]["response"]).replace('"x"', '"functions.f:0"')
    with staged(json.loads(text)) as (url, stage):
        profile = find_profile("vllm", None, None)
        async with opened(tmp_path, None, url=url, profile=profile, tools=[f]) as session:
            assert await answer(session) == "Done."
    assert ids_in(stage.requests[1]) == (["functions.f:0"] * 2,) * 2
    assert results_of(stage.requests[1]) == ["of 1", "of 2"]


async def test_a_repeat_beside_a_suffixed_id_gets_the_next(tmp_path: Path) -> None:
    """A model that copies an id it was shown can't make two calls share one."""
    uses = [
        {"type": "tool_use", "id": name, "name": "f", "input": {"n": n}}
        for n, name in enumerate(("x", "x_d1", "x"))
    ]
    profile = find_profile("anthropic", None, None)
    with staged(blocks(*uses), blocks(*uses[:1])) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=profile, tools=[f]) as session:
            assert await answer(session) == "Done."
    contents = [block for row in unmarked(stage)[2]["messages"] for block in row["content"]]
    called = [block["id"] for block in contents if block["type"] == "tool_use"]
    assert called == ["x", "x_d1", "x_d2", "x_d3"]
    assert [block["tool_use_id"] for block in contents if block["type"] == "tool_result"] == called


@case("oai-missing-id")
async def test_a_missing_id_is_made_once(given_case: dict[str, Any], tmp_path: Path) -> None:
    parsed, response = given_case["expect"]["parsed"], given_case["given"]["response"]
    tools = [named("f"), named("g")]
    profile = find_profile("openai", "chat", None)
    with staged(response, response) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=profile, tools=tools) as session:
            assert await answer(session) == "Done."
            received = [entry.meta["received"] for entry in entries(session, "assistant")[:2]]
    called, answered = ids_in(stage.requests[2])
    assert called == answered
    assert (len(set(called)) == len(called) == 4) is parsed["ids_unique"]
    assert all(called)
    assert ids_in(stage.requests[1])[0] == called[: parsed["synthesised"]]
    assert received == [{"tool_calls.0.id": None, "tool_calls.1.id": ""}] * 2
    assert [len(ran(item)) for item in tools] == [2, 2]
