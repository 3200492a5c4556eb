"""The wire cases on tool calls: which are run, with which arguments, and what they answer."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from deskwork.flows import command_record
from deskwork.tasks.limits import Limits
from deskwork.tasks.local_model import Said, ScriptedModel
from deskwork.tasks.local_server import serve
from deskwork.tasks.profiles import PROTOCOLS, builtin, find_profile
from deskwork.tasks.states import OutOfBudget, WaitingForPerson
from deskwork.tools.tool import Tool, ToolResult, tool
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

OPENAI = find_profile("openai", "chat", None)
ANTHROPIC = find_profile("anthropic", None, None)


def calls_in(request: dict[str, Any]) -> list[dict[str, Any]]:
    return [call for row in request["messages"] for call in row.get("tool_calls", ())]


def results_in(request: dict[str, Any]) -> dict[str, str]:
    rows = [row for row in request["messages"] if row["role"] == "tool"]
    return {row["tool_call_id"]: row["content"] for row in rows}


@case("oai-finish-stop-with-calls")
async def test_calls_are_run_whatever_the_finish_reason_says(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    tool = named("f")
    with staged(given_case["given"]["response"]) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=OPENAI, tools=[tool]) as session:
            assert await answer(session) == "Done."
    assert ran(tool) == [{}]
    assert [message["role"] for message in stage.requests[1]["messages"]][2:] == [
        "assistant",
        "tool",
    ]


@case("oai-args-as-object")
async def test_arguments_that_are_an_object_go_back_as_its_text(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    f = named("f", x=int)
    ((_, expected),) = given_case["expect"]["next_request"].items()
    with staged(given_case["given"]["response"]) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=OPENAI, tools=[f]) as session:
            assert await answer(session) == "Done."
            (reply,) = entries(session, "assistant")[:1]
    assert ran(f) == [{"x": 1}]
    assert calls_in(stage.requests[1])[0]["function"]["arguments"] == expected
    assert reply.meta["received"] == {"tool_calls.0.arguments": {"x": 1}}


@case("oai-args-empty-string")
async def test_no_arguments_are_an_empty_object(given_case: dict[str, Any], tmp_path: Path) -> None:
    now = named("now")
    ((_, expected),) = given_case["expect"]["next_request"].items()
    for number, kind in enumerate(("openai", "sglang", "llamacpp")):
        profile = find_profile(kind, "chat", None)
        with staged(given_case["given"]["response"]) as (url, stage):
            async with opened(
                tmp_path / kind, None, url=url, profile=profile, tools=[now]
            ) as session:
                assert await answer(session) == "Done."
                (reply,) = entries(session, "assistant")[:1]
        assert ran(now) == [{}] * (number + 1)
        assert results_in(stage.requests[1]) == {"a": "fine"}
        assert calls_in(stage.requests[1])[0]["function"]["arguments"] == expected
        assert reply.meta["received"] == {"tool_calls.0.arguments": ""}


@case("oai-args-not-object")
async def test_arguments_that_are_no_object(given_case: dict[str, Any], tmp_path: Path) -> None:
    f = named("f", x=int)
    response = given_case["given"]["response"]
    raw = [
        call["function"]["arguments"]
        for call in response["body"]["choices"][0]["message"]["tool_calls"]
    ]
    with staged(response) as (url, stage):
        async with opened(tmp_path / "fits", None, url=url, profile=OPENAI, tools=[f]) as session:
            assert await answer(session) == "Done."
            (reply,) = entries(session, "assistant")[:1]
    wire = {call["id"]: call["function"]["arguments"] for call in calls_in(stage.requests[1])}
    assert wire == given_case["expect"]["next_request"]["wire_arguments"]
    assert ran(f) == [{"x": 1}]
    results = results_in(stage.requests[1])
    assert results["a"].startswith("Error:")
    assert raw[0] in results["a"]
    assert results["b"] == "fine"
    assert reply.meta["repaired"] == [1]
    assert reply.meta["received"] == {
        f"tool_calls.{place}.arguments": text for place, text in enumerate(raw)
    }
    # One that its tool doesn't take is not repaired: an empty object, and the text in the error.
    f = named("f", y=int)
    with staged(response) as (url, stage):
        async with opened(tmp_path / "not", None, url=url, profile=OPENAI, tools=[f]) as session:
            assert await answer(session) == "Done."
            (reply,) = entries(session, "assistant")[:1]
    assert [call["function"]["arguments"] for call in calls_in(stage.requests[1])] == ["{}", "{}"]
    assert ran(f) == []
    assert "repaired" not in reply.meta
    assert results_in(stage.requests[1])["b"].startswith("Error: Wrong arguments for f")
    assert raw[1] in results_in(stage.requests[1])["b"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_repair_goes_back_in_every_protocol_and_to_another_server(
    protocol: str, tmp_path: Path
) -> None:
    f = named("f", x=int)
    model = ScriptedModel([Said(calls=[("f", json.dumps('{"x":1}'))]), Said("Done.")])
    with serve(model) as url:
        profile = find_profile("gateway", protocol, None)
        async with opened(tmp_path, None, url=url, profile=profile, tools=[f]) as session:
            with pytest.raises(OutOfBudget):
                await answer(session, limits=Limits(max_steps=1))
            (reply,) = entries(session, "assistant")
            assert reply.meta["repaired"] == [0]
    # It is the object's text that is told to the next server as well, and no repair to be made.
    profile = find_profile("vllm", None, None)
    moved(tmp_path, profile)
    with staged() as (url, stage):
        async with opened(tmp_path, None, url=url, profile=profile, tools=[f]) as session:
            assert await answer(session) == "Done."
    assert calls_in(stage.requests[0])[0]["function"]["arguments"] == '{"x":1}'
    assert ran(f) == [{"x": 1}]
    wire = json.loads(b"[" + b"".join(p for p in reply.body if isinstance(p, bytes)) + b"]")
    assert ('{"x": 1}' if protocol == "messages" else '{\\"x\\":1}') in json.dumps(wire)


@case("oai-unknown-tool")
async def test_an_unknown_tool_is_answered_with_those_there_are(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    expected = given_case["expect"]["next_request"]["tool_message"]
    tools = [named("f"), named("g")]
    with staged(given_case["given"]["response"]) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=OPENAI, tools=tools) as session:
            assert await answer(session) == "Done."
    told = stage.requests[1]["messages"][-1]
    assert {**told, "content": ""} == {**expected, "content": ""}
    assert told["content"] == expected["content"].replace("...", "f, g.")


@case("oai-tools-empty")
async def test_without_tools_nothing_is_said_of_them(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    absent = given_case["expect"]["next_request"]["absent"]
    for kind in builtin():
        for protocol in PROTOCOLS:
            tools = given_case["given"]["setting"]["tools"]
            with staged() as (url, stage):
                profile = find_profile(kind, protocol, None)
                async with opened(
                    tmp_path / f"{kind}-{protocol}", None, url=url, profile=profile, tools=tools
                ) as session:
                    await answer(session)
            assert [name for name in absent if name in stage.requests[0]] == []


@case("oai-tool-parallel-order")
async def test_results_stand_in_the_order_of_the_calls(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    ended: list[str] = []
    done = {"g": asyncio.Event(), "h": asyncio.Event()}

    @tool(repeatable=True)
    async def f() -> ToolResult:
        """Do f, the last to end."""
        await done["h"].wait()
        ended.append("a")
        return ToolResult(text="of f")

    @tool(repeatable=True)
    async def g() -> ToolResult:
        """Do g, the first to end."""
        ended.append("b")
        done["g"].set()
        return ToolResult(text="of g")

    @tool(repeatable=True)
    async def h() -> ToolResult:
        """Do h after g."""
        await done["g"].wait()
        ended.append("c")
        done["h"].set()
        return ToolResult(text="of h")

    with staged(given_case["given"]["response"]) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=OPENAI, tools=[f, g, h]) as session:
            assert await answer(session) == "Done."
    assert ended == ["b", "c", "a"]
    first, second = (request["messages"] for request in stage.requests)
    assert [[row["role"], row.get("tool_call_id")] for row in second[len(first) :]] == given_case[
        "expect"
    ]["next_request"]["messages_appended_roles_ids"]
    assert [row["content"] for row in second[-3:]] == ["of f", "of g", "of h"]


class Killed(BaseException):
    """Stands for a kill in the middle of a call."""


def killed_once(*, repeatable: bool) -> Tool:
    runs: list[str] = []

    @tool(repeatable=repeatable)
    async def g() -> ToolResult:
        """Do g."""
        runs.append("g")
        if len(runs) == 1:
            raise Killed
        return ToolResult(text="of g")

    return g


@case("oai-tool-interrupted")
async def test_no_request_goes_out_with_an_unanswered_call(
    given_case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, lost = given_case["expect"]["next_request"]["messages_appended"]
    for repeatable in (True, False):
        home, f, g = tmp_path / str(repeatable), named("f"), killed_once(repeatable=repeatable)
        tools = [f, g]
        with staged(given_case["given"]["response"]) as (url, stage):
            async with opened(home, None, url=url, profile=OPENAI, tools=tools) as session:
                with pytest.raises(Killed):
                    await answer(session)
            # The case fills in an error at once; the design runs a repeatable call again, and
            # asks a person about one that changes the world before anything is sent.
            if not repeatable:
                async with opened(home, None, url=url, profile=OPENAI, tools=tools) as session:
                    with pytest.raises(WaitingForPerson):
                        await answer(session)
                assert len(stage.bodies) == 1
                monkeypatch.setenv("DESKWORK_HOME", str(home))
                decided = CliRunner().invoke(command_record.answer, ["job", "--give-up"])
                assert decided.exit_code == 0
            async with opened(home, None, url=url, profile=OPENAI, tools=tools) as session:
                assert await answer(session) == "Done."
                last = entries(session, "tool")[-1]
        assert ran(f) == [{}]
        assert len(stage.bodies) == 2
        for request in stage.requests:
            assert [call["id"] for call in calls_in(request)] == list(results_in(request))
        first, second = stage.requests[1]["messages"][-2:]
        assert first == {**done, "content": "fine"}
        assert {**second, "content": ""} == {**lost, "content": ""}
        if repeatable:
            assert second["content"] == "of g"
        else:
            assert second["content"].startswith("Error: ")
            assert "not known" in second["content"]
            assert last.meta["outcome"] == "given_up"


@case("anth-is-error")
async def test_a_failure_says_what_it_was_and_what_to_try(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    @tool(repeatable=True)
    def f() -> ToolResult:
        """Open a file."""
        raise FileNotFoundError(2, "No such file or directory", "a.csv")

    (expected,) = given_case["expect"]["next_request"]["content"]
    response = blocks({"type": "tool_use", "id": "t1", "name": "f", "input": {}})
    with staged(response) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=ANTHROPIC, tools=[f]) as session:
            assert await answer(session) == "Done."
    (result,) = unmarked(stage)[1]["messages"][-1]["content"]
    assert {**result, "content": []} == {**expected, "content": []}
    (part,) = result["content"]
    # The text begins with "Error:" for the servers that drop `is_error`: the next case wants it.
    assert expected["content"][0]["text"].removesuffix("...") in part["text"]
    assert "a.csv" in part["text"]
    assert part["text"].endswith("Check the arguments, or try another way.")


@case("anth-is-error-lost-vllm")
async def test_a_failure_shows_in_the_text_itself(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    @tool(repeatable=True)
    def f() -> ToolResult:
        """Fail."""
        raise OSError("the disk is full")

    prefix = given_case["expect"]["next_request"]["tool_text_prefix"]
    use = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    for kind, protocol, response in (
        ("vllm", "messages", blocks(use)),
        ("openai", "chat", completion(chat_call("t1"))),
    ):
        profile = find_profile(kind, protocol, None)
        with staged(response) as (url, stage):
            async with opened(tmp_path / kind, None, url=url, profile=profile, tools=[f]) as job:
                assert await answer(job) == "Done."
        content = stage.requests[1]["messages"][-1]["content"]
        text = content if protocol == "chat" else content[0]["content"][0]["text"]
        assert text.startswith(prefix)
        assert "the disk is full" in text
