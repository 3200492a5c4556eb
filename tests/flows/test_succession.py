"""A conversation's successor: another model or protocol in mid-run, and the window's end."""

from __future__ import annotations

import io
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from deskwork.tasks.cache_marks import without_marks
from deskwork.tasks.limits import Limits
from deskwork.tasks.local_model import Asked, Said, ScriptedModel
from deskwork.tasks.model_errors import ContextOverflow
from deskwork.tasks.outcomes import usage_of
from deskwork.tasks.profiles import Profile, find_profile
from deskwork.tasks.protocol import open_codec
from deskwork.tasks.session import Session
from deskwork.tasks.starts import move
from deskwork.tasks.states import OutOfBudget
from deskwork.tasks.workbench import Workbench
from deskwork.tools.tool import ToolResult, tool
from tests.jobs import TOOLS, answer, opened, settings_in

PROFILES = ["gateway", "anthropic", "openai", "gemini", "mistral", "deepseek"]


def picture() -> bytes:
    data = io.BytesIO()
    Image.new("RGB", (50, 40), "red").save(data, "PNG")
    return data.getvalue()


@tool(repeatable=True)
def look() -> ToolResult:
    """Look."""
    return ToolResult(text="a picture", images=(picture(),))


class Recording(ScriptedModel):
    """Keeps the bodies as they came, cache marks left out."""

    def __init__(self, script: Any) -> None:
        super().__init__(script)
        self.bodies: list[bytes] = []

    def respond(self, path: str, body: bytes) -> tuple[int, str, list[bytes]]:
        self.bodies.append(without_marks(body))
        return super().respond(path, body)


def entries_of(session: Session) -> list[Any]:
    return session.writer.journal.entries(session.job)


def opening_of(session: Session, number: int) -> dict[str, Any]:
    (meta,) = (
        entry.meta
        for entry in entries_of(session)
        if entry.kind == "conversation" and entry.conversation == number
    )
    return dict(meta)


def moved(home: Path, profile: Profile) -> None:
    bench = Workbench(settings_in(home, profile))
    assert move(bench.journal, "job", bench.recorded_settings())
    bench.journal.database.close()


@pytest.mark.parametrize(("before", "after"), [*itertools.permutations(PROFILES, 2)])
async def test_a_job_moves_to_any_other_kind_of_server(
    tmp_path: Path, before: str, after: str
) -> None:
    first = ScriptedModel(
        [
            Said(
                "Let me look.",
                thinking="I should look.",
                calls=[("look", {}, "functions.look:0"), ("echo", {"text": "a"}, "same")],
            ),
            Said(calls=[("echo", {"text": "b"}, "same"), ("fail", "{broken")]),
        ]
    )
    tools = [*TOOLS, look]
    profile = find_profile(before, None, None)
    async with opened(tmp_path, first, profile=profile, tools=tools) as session:
        with pytest.raises(OutOfBudget):
            await answer(session, limits=Limits(max_steps=2), images=(picture(),))
        digests = [entry.digest for entry in entries_of(session)]

    second = Recording([Said(thinking="New.", calls=[("echo", {"text": "c"})]), Said("End.")])
    profile = find_profile(after, None, None)
    moved(tmp_path, profile)
    async with opened(tmp_path, second, profile=profile, tools=tools) as session:
        assert await answer(session) == "End."
        kept = [entry.digest for entry in entries_of(session)][: len(digests)]
        opening = opening_of(session, 2)
        spent = usage_of(session.writer.journal, [session.job])
        assert session.history.spend.steps == spent["calls"] == 4
    assert kept == digests
    assert (opening["continues"], opening["why"], opening["profile"]) == (1, "model", after)

    told = second.requests[0]
    assert [message["role"] for message in told.messages if message["text"]][:1] == ["user"]
    assert "Question?" in str(told.messages)
    results = [message["text"] for message in told.messages if message["role"] == "tool"]
    kinds = [text.partition(":")[0] for text in results]
    assert kinds == ["a picture", "echo a", "echo b", "Error"]
    body = json.loads(second.bodies[0])
    text = json.dumps(body)
    assert text.count("base64,") + text.count('"data":') == 2
    ids = [call[2] for message in told.messages for call in message.get("calls", ())]
    assert len(ids) == 4
    assert len(set(ids)) == (
        4 if "unique" in (profile.ids, find_profile(before, None, None).ids) else 3
    )
    if after == "mistral":
        assert all(len(call_id) == 9 for call_id in ids)
    if after == "gemini":
        assert text.count("skip_thought_signature_validator") == 4
    reads = profile.protocol == "chat" and profile.reads_thinking
    assert ("I should look." in text) is reads
    assert opening.get("lost") == (None if reads else {"thinking": 1})
    first_prefix, later = second.bodies
    assert later.startswith(first_prefix[: first_prefix.rindex(b"fail") + 4])


async def test_another_model_of_the_same_vendor_keeps_the_blocks_and_says_so(
    tmp_path: Path,
) -> None:
    profile = find_profile("anthropic", None, None)
    first = ScriptedModel([Said(thinking="Deep.", calls=[("echo", {"text": "a"})])])
    async with opened(tmp_path, first, profile=profile) as session:
        with pytest.raises(OutOfBudget):
            await answer(session, limits=Limits(max_steps=1))
    second = Recording([Said("End.")])
    bench = Workbench(settings_in(tmp_path, profile).with_model("newer"))
    assert move(bench.journal, "job", bench.recorded_settings())
    bench.journal.database.close()
    async with opened(tmp_path, second, profile=profile, model_name="newer") as session:
        assert await answer(session) == "End."
        opening = opening_of(session, 2)
    blocks = json.loads(second.bodies[0])["messages"][1]["content"]
    assert [block["type"] for block in blocks] == ["thinking", "tool_use"]
    assert blocks[0]["signature"]
    assert opening["thinking_of_other_model_not_used"] == 1
    assert "lost" not in opening


def filling(asked: Asked) -> Said:
    """A model that calls a tool until the window is nearly full, and writes its hand-over then."""
    last = asked.messages[-1]["text"]
    if "hand-over for yourself" in last:
        return Said("Found: 842.6 million [E1a2b3c4d]. To do: the year before.")
    if "842.6" in str(asked.messages) or "echo" in str(asked.messages[:1]):
        return Said("The end.")
    return Said(calls=[("echo", {"text": f"{asked.number} " + "x" * 6000})])


@pytest.mark.parametrize("name", ["gateway", "anthropic", "openai"])
async def test_near_the_window_s_end_the_model_hands_over_to_itself(
    tmp_path: Path, name: str
) -> None:
    profile = find_profile(name, None, None)
    model = Recording(filling)
    async with opened(tmp_path, model, profile=profile, window=20_000) as session:
        assert await answer(session, "How much?") == "The end."
        opening = opening_of(session, 2)
        entries = entries_of(session)
    assert (opening["continues"], opening["why"]) == (1, "window")
    assert len(model.bodies[-1]) < len(model.bodies[0]) + 1000
    asked = model.requests[-1]
    assert "How much?" in asked.messages[0]["text"]
    assert "842.6 million [E1a2b3c4d]" in asked.messages[0]["text"]
    assert asked.system == model.requests[0].system
    assert asked.tools == model.requests[0].tools
    assert [entry.kind for entry in entries if entry.conversation == 2][:3] == [
        "conversation",
        "system",
        "user",
    ]


async def test_a_call_made_instead_of_a_hand_over_is_answered_and_the_hand_over_asked_again(
    tmp_path: Path,
) -> None:
    def stubborn(asked: Asked) -> Said:
        refused = "hand-over is due" in str(asked.messages)
        if "hand-over for yourself" in str(asked.messages) and not refused:
            return Said(calls=[("echo", {"text": "again"})])
        return Said("Handed over: 842.6.") if refused else filling(asked)

    model = Recording(stubborn)
    async with opened(tmp_path, model, window=20_000) as session:
        await answer(session)
        opening = opening_of(session, 2)
    assert opening["why"] == "window"


@pytest.mark.parametrize("name", ["gateway", "anthropic", "openai"])
async def test_an_overflow_that_nobody_foresaw_is_recovered_from(tmp_path: Path, name: str) -> None:
    """The window is unknown here; the server names it when it refuses."""

    class Small(Recording):
        def respond(self, path: str, body: bytes) -> tuple[int, str, list[bytes]]:
            if len(body) > 60_000:
                text = (
                    "This model's maximum context length is 16000 tokens. However, your messages "
                    "resulted in 17000 tokens."
                )
                error = {"error": {"message": text, "code": "context_length_exceeded"}}
                return 400, "application/json", [json.dumps(error).encode()]
            return super().respond(path, body)

    def script(asked: Asked) -> Said:
        if "no longer fits" in str(asked.messages[0]):
            return Said("The end.")
        return Said("So far.", calls=[("echo", {"text": f"{asked.number} " + "y" * 9000})])

    model = Small(script)
    async with opened(tmp_path, model, profile=find_profile(name, None, None)) as session:
        assert await answer(session, "How much?") == "The end."
        opening = opening_of(session, 2)
    assert (opening["continues"], opening["why"]) == (1, "overflow")
    told = model.requests[-1].messages[0]["text"]
    assert "How much?" in told
    assert "You said: So far." in told


async def test_a_brief_that_is_itself_too_long_stops_the_job(tmp_path: Path) -> None:
    class Tiny(ScriptedModel):
        def respond(self, path: str, body: bytes) -> tuple[int, str, list[bytes]]:
            error = {"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}
            return 400, "application/json", [json.dumps(error).encode()]

    async with opened(tmp_path, Tiny([])) as session:
        with pytest.raises(ContextOverflow):
            await answer(session)


async def test_when_only_the_output_does_not_fit_its_limit_is_lowered(tmp_path: Path) -> None:
    class Tight(Recording):
        def respond(self, path: str, body: bytes) -> tuple[int, str, list[bytes]]:
            if json.loads(body).get("max_tokens", 9000) > 3000:
                self.bodies.append(body)
                text = (
                    "This model's maximum context length is 8000 tokens. However, you requested "
                    "14000 tokens (5000 in the messages, 9000 in the completion)."
                )
                error = {"error": {"message": text, "code": "context_length_exceeded"}}
                return 400, "application/json", [json.dumps(error).encode()]
            return super().respond(path, body)

    model = Tight([Said("End.")])
    async with opened(tmp_path, model) as session:
        assert await answer(session) == "End."
        assert len(session.history.conversations) == 1
    assert [json.loads(body).get("max_tokens") for body in model.bodies] == [None, 3000]


async def test_words_about_signatures_are_no_thinking(tmp_path: Path) -> None:
    profile = find_profile("anthropic", None, None)
    first = ScriptedModel([Said("Its signature is encrypted.", calls=[("echo", {"text": "a"})])])
    async with opened(tmp_path, first, profile=profile) as session:
        with pytest.raises(OutOfBudget):
            await answer(session, limits=Limits(max_steps=1))
    bench = Workbench(settings_in(tmp_path, profile).with_model("newer"))
    assert move(bench.journal, "job", bench.recorded_settings())
    bench.journal.database.close()
    model = ScriptedModel([Said("End.")])
    async with opened(tmp_path, model, profile=profile, model_name="newer") as session:
        assert await answer(session) == "End."
        assert "thinking_of_other_model_not_used" not in opening_of(session, 2)


def test_a_thought_that_gemini_signed_is_lost_elsewhere() -> None:
    call = {"id": "a", "function": {"name": "f", "arguments": "{}"}}
    signed = {**call, "extra_content": {"google": {"thought_signature": "SIG"}}}
    codec = open_codec(find_profile("gateway", None, None))
    for calls, lost in (([signed], {"thinking": 1}), ([call], {})):
        data = {"choices": [{"message": {"tool_calls": calls}, "finish_reason": "tool_calls"}]}
        assert codec.foreign(codec.whole(data), raw=False)[1] == lost
