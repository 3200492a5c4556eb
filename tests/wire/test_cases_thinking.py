"""The wire cases on thinking: it goes back as it came, and its loss is on record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deskwork.flows.probes import Probes
from deskwork.tasks.encoding import dumps
from deskwork.tasks.entries import Entry
from deskwork.tasks.limits import Limits
from deskwork.tasks.local_model import Asked, Said, ScriptedModel
from deskwork.tasks.local_server import serve
from deskwork.tasks.model_errors import FieldRefused, Rejected
from deskwork.tasks.profiles import Profile, find_profile
from deskwork.tasks.progress import watcher
from deskwork.tasks.states import OutOfBudget
from deskwork.tasks.workbench import Workbench
from tests.jobs import answer, opened, settings_in
from tests.wire.conformance import (
    Stage,
    blocks,
    case,
    chat_call,
    completion,
    entries,
    moved,
    named,
    staged,
    unmarked,
)

ANTHROPIC = find_profile("anthropic", None, None)
SGLANG_MESSAGES = find_profile("sglang", "messages", None)
USE = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
TOOLS = [named("f", "<result>"), named("g")]


async def asked_twice(
    home: Path, profile: Profile, *responses: dict[str, Any], model: str | None = None
) -> tuple[Stage, list[Entry]]:
    """A job of these responses, and a further question where they end it: (stage, replies)."""
    with staged(*responses) as (url, stage):
        async with opened(
            home, None, url=url, profile=profile, tools=TOOLS, model_name=model
        ) as job:
            if await answer(job) != "Done.":
                await job.say(job.history.conversations["ask"], "And?", "person")
                assert await answer(job) == "Done."
            replies = entries(job, "assistant")
    return stage, replies


async def told_again(
    home: Path,
    response: dict[str, Any],
    before: Profile,
    after: Profile,
    *,
    model: str | None = None,
    end: dict[str, Any] | None = None,
) -> tuple[dict[str, Any], dict[str, Any], list[Entry]]:
    """One step here, then moved there: (first request, its opening's meta, all replies)."""
    with staged(response) as (url, _):
        async with opened(home, None, url=url, profile=before, tools=TOOLS) as job:
            with pytest.raises(OutOfBudget):
                await answer(job, limits=Limits(max_steps=1))
    moved(home, after, model)
    with staged(*[end] if end else []) as (url, stage):
        async with opened(home, None, url=url, profile=after, tools=TOOLS, model_name=model) as job:
            await answer(job)
            opening = entries(job, "conversation")[1].meta
            replies = entries(job, "assistant")
    return unmarked(stage)[0], opening, replies


def said_in(request: dict[str, Any]) -> dict[str, Any]:
    """The first assistant message of a request."""
    return next(row for row in request["messages"] if row["role"] == "assistant")


# Anthropic


@case("anth-thinking-roundtrip")
async def test_all_blocks_go_back_unchanged(given_case: dict[str, Any], tmp_path: Path) -> None:
    expected = given_case["expect"]["next_request"]["messages_appended"]
    tools = [named("f", "<result>", x=int)]
    content = given_case["given"]["response"]["body"]["content"]
    unknown = [{**block, "future": {"b": 1, "a": None}} for block in content]
    for home, sent in (("given", content), ("unknown keys", unknown)):
        with staged(blocks(*sent)) as (url, stage):
            async with opened(
                tmp_path / home, None, url=url, profile=ANTHROPIC, tools=tools
            ) as job:
                assert await answer(job) == "Done."
        first, second = unmarked(stage)
        said, result = second["messages"][len(first["messages"]) :]
        assert said == {**expected[0], "content": sent}
        assert result == expected[1]


@case("anth-thinking-empty-text")
async def test_a_signature_without_text_is_kept(given_case: dict[str, Any], tmp_path: Path) -> None:
    ((_, block),) = given_case["expect"]["next_request"].items()
    stage, _ = await asked_twice(tmp_path, ANTHROPIC, given_case["given"]["response"])
    content = said_in(unmarked(stage)[1])["content"]
    assert content[0] == block
    assert content == given_case["given"]["response"]["body"]["content"]


@case("anth-thinking-modified")
async def test_the_blocks_are_the_bytes_of_the_response_and_its_refusal_is_final(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    content: list[dict[str, Any]] = [
        {"signature": "S1", "type": "thinking", "thinking": ""},
        {"type": "text", "text": "First é ☃."},
        {"type": "thinking", "thinking": "more", "signature": "S2"},
        {"input": {"z": 1, "a": [1.5, None]}, "type": "tool_use", "name": "f", "id": "t1"},
    ]
    with staged(blocks(*content), given_case["given"]["response"]) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=ANTHROPIC, tools=TOOLS) as job:
            with pytest.raises(Rejected, match="cannot be modified"):
                await answer(job)
    assert len(stage.bodies) == 2
    assert b'{"role":"assistant","content":' + dumps(content) + b"}" in stage.bodies[1]


@case("anth-model-switch")
async def test_a_switch_of_models_says_that_thinking_may_not_be_used(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    warning = given_case["expect"]["parsed"]["warning"]
    told: list[tuple[str, str]] = []
    watcher.set(lambda progress: told.append((progress.kind, progress.text)))
    thinking = {"type": "thinking", "thinking": "Deep.", "signature": "S"}
    request, opening, _ = await told_again(
        tmp_path,
        blocks(thinking, USE),
        ANTHROPIC,
        ANTHROPIC,
        model="newer",
        end=given_case["given"]["response"],
    )
    assert said_in(request)["content"] == [thinking, USE]
    assert opening[warning] == 1
    assert "lost" not in opening
    assert any(kind == "trouble" and "may not use the thinking" in text for kind, text in told)


@case("anth-redacted-sglang")
async def test_redacted_thinking_is_left_out_where_it_is_refused(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    absent = given_case["expect"]["next_request"]["absent_block_types"]
    redacted, text = given_case["given"]["history"][0]["content"]
    thinking = {"type": "thinking", "thinking": "T", "signature": ""}
    response = blocks(redacted, thinking, text, USE)
    # From another vendor, and from another server behind the same profile.
    for before, kept in ((ANTHROPIC, [text, USE]), (SGLANG_MESSAGES, [thinking, text, USE])):
        request, opening, _ = await told_again(
            tmp_path / before.name, response, before, SGLANG_MESSAGES, model="newer"
        )
        content = said_in(request)["content"]
        assert [block for block in content if block["type"] in absent] == []
        assert content == kept
        assert opening["lost"] == {"thinking": 1}
    with staged(given_case["given"]["response"]) as (url, stage):
        async with opened(tmp_path / "400", None, url=url, profile=SGLANG_MESSAGES) as job:
            with pytest.raises(Rejected, match="redacted_thinking history is not supported"):
                await answer(job)
    assert len(stage.bodies) == 1


# Chat completions


@case("reason-deepseek-empty", "reason-sglang-roundtrip")
async def test_thinking_goes_back_under_its_name_even_when_empty(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    profile = find_profile(given_case["protocol"].removesuffix("-chat"), None, None)
    ((_, expected),) = given_case["expect"]["next_request"].items()
    stage, _ = await asked_twice(tmp_path, profile, given_case["given"]["response"])
    said = said_in(stage.requests[1])
    assert said["reasoning_content"] == expected
    assert "reasoning" not in said


@case("reason-deepseek-foreign-history")
async def test_calls_of_a_model_without_thinking_get_an_empty_one_on_the_wire(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    ((_, expected),) = given_case["expect"]["next_request"].items()
    deepseek = find_profile("deepseek", None, None)
    request, opening, replies = await told_again(
        tmp_path, completion(chat_call("c1")), find_profile("openai", "chat", None), deepseek
    )
    assert request["thinking"] == {"type": "enabled"}
    assert said_in(request)["reasoning_content"] == expected
    # The reply as it was recorded holds none, and none was lost.
    (recorded,) = replies[0].body
    assert isinstance(recorded, bytes)
    assert b"reasoning" not in recorded
    assert "lost" not in opening


@case("reason-gemini-thought-signature")
async def test_a_signature_stays_on_its_call(given_case: dict[str, Any], tmp_path: Path) -> None:
    ((_, expected),) = given_case["expect"]["next_request"].items()
    gemini, response = find_profile("gemini", None, None), given_case["given"]["response"]
    stage, _ = await asked_twice(tmp_path / "own", gemini, response)
    signed, other = said_in(stage.requests[1])["tool_calls"]
    assert signed["extra_content"] == expected
    assert "extra_content" not in other
    # So it does with the vendor's next model; calls of another's bear the documented value.
    request, _, _ = await told_again(tmp_path / "next", response, gemini, gemini, model="newer")
    signed, other = said_in(request)["tool_calls"]
    assert signed["extra_content"] == expected
    assert "extra_content" not in other
    gateway = find_profile("gateway", None, None)
    foreign = completion(chat_call("c1"))
    request, _, _ = await told_again(tmp_path / "foreign", foreign, gateway, gemini)
    (call,) = said_in(request)["tool_calls"]
    assert call["extra_content"]["google"]["thought_signature"] in given_case["expect"]["statement"]
    assert call["extra_content"]["google"]["thought_signature"].startswith("skip_thought")


@case("reason-moonshot-required")
async def test_calls_always_bear_thinking_for_moonshot(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    assert given_case["expect"]["next_request"] == {
        "assistant_message.reasoning_content": "<verbatim>"
    }
    for model, empty in (("kimi-k3", ""), ("kimi-k2.6", " ")):
        profile = find_profile("moonshot", None, None, model=model)
        for sent, back in (("R é", "R é"), ("", empty), (None, empty)):
            thinking = {} if sent is None else {"reasoning_content": sent}
            response = completion({**chat_call("f:0"), **thinking})
            home = tmp_path / f"{model}-{sent}"
            stage, _ = await asked_twice(home, profile, response, model=model)
            assert said_in(stage.requests[1])["reasoning_content"] == back
    response = given_case["given"]["response"]
    with staged(completion(chat_call("f:0")), response) as (url, stage):
        async with opened(
            tmp_path / "400", None, url=url, profile=find_profile("moonshot", None, None)
        ) as job:
            with pytest.raises(Rejected, match="reasoning_content is missing"):
                await answer(job)
    assert len(stage.bodies) == 2


@case("reason-openrouter-stream-merge")
async def test_fragments_of_thinking_are_joined(given_case: dict[str, Any], tmp_path: Path) -> None:
    profile = find_profile("openrouter", None, None)
    stage, _ = await asked_twice(tmp_path, profile, given_case["given"]["response"])
    said = said_in(stage.requests[1])
    assert said["reasoning_details"] == given_case["expect"]["parsed"]["reasoning_details"]
    assert (said["reasoning"], said["content"]) == ("AB", "x")


@case("reason-reject-422")
async def test_a_refused_field_is_one_kind_of_error(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    error, response = given_case["expect"]["parsed"]["error"], given_case["given"]["response"]
    assert error == {"class": "unsupported_field", "retryable": False}
    for status in (response["status"], 400):
        with staged({**response, "status": status}) as (url, stage):
            async with opened(tmp_path / str(status), None, url=url) as job:
                with pytest.raises(FieldRefused, match="Extra inputs are not permitted") as caught:
                    await answer(job)
        assert caught.value.field == "messages.1.assistant.reasoning_content"
        assert "DESKWORK_PROFILE" in caught.value.hint
        assert len(stage.bodies) == 1


@case("reason-vllm-roundtrip")
async def test_thinking_goes_back_under_both_names(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    profile = find_profile("vllm", None, None)
    stage, _ = await asked_twice(tmp_path, profile, given_case["given"]["response"])
    expected = given_case["expect"]["next_request"]["assistant_message"]
    assert said_in(stage.requests[1]) == expected


@case("reason-silent-drop-probe")
async def test_a_server_that_renders_no_earlier_thinking_is_found_before_a_run(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    def drops(asked: Asked) -> Said:
        return Said("391", usage={"input": 50, "output": 9})

    def keeps(asked: Asked) -> Said:
        return Said("391", usage={"input": len(json.dumps(asked.body).split()), "output": 9})

    found = {}
    for kind in ("vllm", "sglang", "llamacpp"):
        for render in (drops, keeps):
            model = ScriptedModel(render)
            home = tmp_path / f"{kind}-{render.__name__}"
            with serve(model) as url:
                bench = Workbench(settings_in(home, find_profile(kind, None, None), url))
                try:
                    checks = await Probes(bench.endpoint, bench.settings, bench.blobs).all()
                finally:
                    await bench.close()
            (check,) = [row for row in checks if row.name == "thinking kept"]
            found[render.__name__] = check
            without, whole = [row.body for row in model.requests if row.results]
            names = [name for name in said_in(whole) if name.startswith("reasoning")]
            assert len(said_in(whole)[names[0]].split()) == 2000
            for name in names:
                said_in(whole).pop(name)
            assert whole == without
        assert found["drops"].ok is given_case["expect"]["parsed"]["preserves_history_reasoning"]
        assert "thinking history is not rendered" in found["drops"].found
        assert found["keeps"].ok
