from __future__ import annotations

import asyncio
import io
import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from deskwork.tasks.cache_marks import without_marks
from deskwork.tasks.limits import Limits
from deskwork.tasks.local_model import Asked, Said, ScriptedModel
from deskwork.tasks.model_step import ModelRefused
from deskwork.tasks.profiles import Profile, builtin, find_profile
from deskwork.tasks.states import NeedsReview, OutOfBudget, WaitingForPerson
from deskwork.tools.errors import Stop
from deskwork.tools.tool import ToolResult, tool
from tests.jobs import answer, opened, runs

SPOKEN = [
    find_profile("gateway", "chat", None),
    find_profile("anthropic", "messages", None),
    find_profile("openai", "responses", None),
]
CUT = {"chat": "length", "messages": "max_tokens", "responses": "max_output_tokens"}
"""What each protocol calls a reply that the output limit cut."""


@pytest.fixture(params=SPOKEN, ids=["chat", "messages", "responses"])
def profile(request: pytest.FixtureRequest) -> Profile:
    found: Profile = request.param
    return found


@pytest.fixture(autouse=True)
def no_runs() -> None:
    runs.clear()


async def test_calls_results_answer(tmp_path: Path, profile: Profile) -> None:
    model = ScriptedModel(
        [
            Said(thinking="I must call.", calls=[("echo", {"text": "a"}), ("echo", {"text": "b"})]),
            Said("Both were said."),
        ]
    )
    async with opened(tmp_path, model, profile=profile) as session:
        assert await answer(session) == "Both were said."
        # Asked again, a finished conversation costs nothing.
        assert await answer(session) == "Both were said."
    assert len(model.requests) == 2
    assert model.requests[1].results == ["echo a", "echo b"]


async def test_thinking_goes_back_as_it_came(tmp_path: Path, profile: Profile) -> None:
    model = ScriptedModel([Said(thinking="é deep", calls=[("echo", {"text": "a"})]), Said("ok")])
    async with opened(tmp_path, model, profile=profile) as session:
        await answer(session)
    sent = json.dumps(model.requests[1].body, ensure_ascii=False)
    if profile.protocol == "messages":
        block = {"type": "thinking", "thinking": "é deep", "signature": "sig1"}
        assert model.requests[1].body["messages"][1]["content"][0] == block
    elif profile.protocol == "responses":
        item = model.requests[1].body["input"][1]
        assert (item["type"], item["encrypted_content"]) == ("reasoning", "enc:é deep")
    else:
        assert '"reasoning_content": "é deep"' in sent


def without_tail(body: bytes, profile: Profile) -> bytes:
    """The request up to the end of its messages."""
    end = rb'\],"store"' if profile.protocol == "responses" else rb'\](,"max_tokens"|,"stream")'
    if profile.protocol == "messages":
        end = rb"\]\}" + end + rb"|" + end
    return body[: [*re.finditer(end, body)][-1].start()]


def messages_in(body: dict[str, Any]) -> list[Any]:
    found: list[Any] = body["input"] if "input" in body else body["messages"]
    return found


async def test_each_request_is_a_byte_prefix_of_the_next(tmp_path: Path, profile: Profile) -> None:
    """Through parallel calls, failures, pictures, empty replies and a kill in between."""
    picture = io.BytesIO()
    Image.new("RGB", (50, 40), "red").save(picture, "PNG")

    @tool(repeatable=True)
    def look() -> ToolResult:
        """Look."""
        return ToolResult(text="a picture", images=(picture.getvalue(),))

    script = [
        Said(thinking="t", calls=[("look", {}), ("echo", {"text": "1"}), ("fail", {"text": "x"})]),
        Said("some text", calls=[("echo", "{not json"), ("nope", {})]),
        Said(),
        Said(thinking="only thinking"),
        Said(calls=[("echo", {"text": "2"}, "same"), ("echo", {"text": "3"}, "same")]),
        Said("cut", finish=CUT[profile.protocol]),
        Said("end"),
    ]
    bodies: list[bytes] = []

    class Recording(ScriptedModel):
        def respond(self, path: str, body: bytes) -> tuple[int, str, list[bytes]]:
            bodies.append(without_marks(body))
            return super().respond(path, body)

    model = Recording(script)
    from tests.jobs import TOOLS

    async with opened(tmp_path, model, profile=profile, tools=[*TOOLS, look]) as session:
        with pytest.raises(OutOfBudget):
            await answer(session, limits=Limits(max_steps=3), images=(picture.getvalue(),))
    async with opened(tmp_path, model, profile=profile, tools=[*TOOLS, look]) as session:
        assert await answer(session) == "cutend"
    assert len(bodies) == len(script)
    for earlier, later in itertools.pairwise(bodies):
        assert later.startswith(without_tail(earlier, profile))
        first, second = messages_in(json.loads(earlier)), messages_in(json.loads(later))
        assert second[: len(first)] == first


async def test_results_stand_in_call_order_whatever_ends_first(
    tmp_path: Path, profile: Profile
) -> None:
    ended: list[str] = []
    gates = {name: asyncio.Event() for name in "abc"}

    @tool(repeatable=True)
    async def wait(name: str) -> ToolResult:
        """Wait for the one that must end first."""
        after = {"a": "b", "b": "c"}.get(name)
        if after:
            await gates[after].wait()
        ended.append(name)
        gates[name].set()
        return ToolResult(text=f"done {name}")

    calls = [("wait", {"name": name}) for name in "abc"]
    model = ScriptedModel([Said(calls=calls), Said("ok")])
    async with opened(tmp_path, model, profile=profile, tools=[wait]) as session:
        await answer(session)
        kinds = [entry.kind for entry in session.writer.journal.entries("job")]
    assert ended == ["c", "b", "a"]
    assert model.requests[1].results == ["done a", "done b", "done c"]
    assert kinds[-4:] == ["tool", "tool", "tool", "assistant"]


async def test_a_parallel_call_that_ended_before_a_kill_is_not_run_again(
    tmp_path: Path, profile: Profile
) -> None:
    class Killed(BaseException):
        pass

    fatal = True
    counted: dict[str, int] = {"slow": 0, "quick": 0}
    quick_done = asyncio.Event()

    @tool(repeatable=True)
    async def slow() -> ToolResult:
        """Die the first time, once the others have ended."""
        counted["slow"] += 1
        if fatal:
            await quick_done.wait()
            raise Killed
        return ToolResult(text="slow")

    @tool(repeatable=True)
    async def quick(name: str) -> ToolResult:
        """End at once."""
        counted["quick"] += 1
        return ToolResult(text=f"quick {name}")

    calls = [("slow", {}), ("quick", {"name": "1"}), ("quick", {"name": "2"})]
    model = ScriptedModel([Said(calls=calls), Said("ok")])
    async with opened(tmp_path, model, profile=profile, tools=[slow, quick]) as session:
        run = asyncio.ensure_future(answer(session))
        while len(session.writer.open_calls(session.history.spend.steps and 4)) < 2:  # noqa: ASYNC110 - nothing tells of a commit
            await asyncio.sleep(0)
        quick_done.set()
        with pytest.raises(Killed):
            await run
    fatal = False
    async with opened(tmp_path, model, profile=profile, tools=[slow, quick]) as session:
        assert await answer(session) == "ok"
    assert counted == {"slow": 2, "quick": 2}
    assert model.requests[1].results == ["slow", "quick 1", "quick 2"]


async def test_wrong_calls_are_told_to_the_model(tmp_path: Path, profile: Profile) -> None:
    calls: list[tuple[Any, ...]] = [
        ("nope", {"x": 1}),
        ("echo", '{"text": '),
        ("echo", {"wrong": 1}),
        ("echo", "[1]"),
        ("fail", {"text": "no luck"}),
    ]
    model = ScriptedModel([Said(calls=calls), Said("ok")])
    async with opened(tmp_path, model, profile=profile) as session:
        await answer(session)
        outcomes = [
            m.get("outcome", "ok") for _, _, m in session.writer.journal.metas("job", "tool")
        ]
    assert outcomes == ["unknown_tool", "invalid_json", "schema_error", "invalid_json", "error"]
    unknown, invalid, schema, other, failed = model.requests[1].results
    assert unknown == "Error: unknown tool 'nope'. Available: echo, fail, send."
    assert invalid.startswith("Error: the arguments of echo are not a JSON object")
    assert '{"text": ' in invalid
    assert schema == (
        "Error: Wrong arguments for echo: text: Field required; "
        "wrong: Extra inputs are not permitted."
    )
    assert "they are no object" in other
    assert failed == "Error: no luck"


async def test_a_cut_reply_with_calls_runs_none_and_raises_the_limit(
    tmp_path: Path, profile: Profile
) -> None:
    finish = CUT[profile.protocol]
    limit = "max_output_tokens" if profile.protocol == "responses" else "max_tokens"
    model = ScriptedModel(
        [Said(calls=[("echo", {"text": "cut"})], finish=finish, usage={"output": 9000}), Said("ok")]
    )
    async with opened(tmp_path, model, profile=profile) as session:
        assert await answer(session) == "ok"
    assert runs == {}
    first, second = (request.body.get(limit) for request in model.requests)
    assert second is not None
    assert second > (first or 0)
    assert second >= 18000
    assert messages_in(model.requests[1].body) == messages_in(model.requests[0].body)


async def test_replies_that_stay_cut_or_empty_stop_the_job(tmp_path: Path) -> None:
    for script in (lambda a: Said(), lambda a: Said(thinking="…", finish="length")):
        model = ScriptedModel(script)
        async with opened(tmp_path, model, job=f"j{id(script)}") as session:
            with pytest.raises(Stop, match="3 empty or cut replies in a row"):
                await answer(session)
        assert len(model.requests) == 3


async def test_a_refusal_ends_the_job_and_is_not_asked_again(tmp_path: Path) -> None:
    model = ScriptedModel(lambda a: Said("no", finish="content_filter"))
    for _ in range(2):
        async with opened(tmp_path, model) as session:
            with pytest.raises(ModelRefused, match="fork job --at N"):
                await answer(session)
    assert len(model.requests) == 1


async def test_the_same_call_over_and_over_is_told_once_then_stopped(tmp_path: Path) -> None:
    model = ScriptedModel(lambda a: Said(calls=[("echo", {"text": "again"})]))
    async with opened(tmp_path, model) as session:
        with pytest.raises(NeedsReview, match="same call of echo 6 times"):
            await answer(session)
    assert runs["again"] == 6
    told = [
        m["text"]
        for m in model.requests[-1].messages
        if m["role"] == "user" and "same arguments" in m["text"]
    ]
    assert len(told) == 1


async def test_limits_keep_a_reserve_and_can_be_raised(tmp_path: Path, profile: Profile) -> None:
    def script(asked: Asked) -> Said:
        return Said(calls=[("echo", {"text": str(asked.number)})])

    model = ScriptedModel(script)
    async with opened(tmp_path, model, profile=profile) as session:
        with pytest.raises(OutOfBudget, match=r"limit of 4 steps.*resume job"):
            await answer(session, limits=Limits(max_steps=4))
    assert len(model.requests) == 4
    assert "Conclude now" not in str(model.requests[2].messages)
    assert "Conclude now" in str(model.requests[3].messages)
    async with opened(tmp_path, model, profile=profile) as session:
        with pytest.raises(OutOfBudget):
            await answer(session, limits=Limits(max_steps=6))
    assert [request.number for request in model.requests] == [1, 2, 3, 4, 5, 6]
    assert max(runs.values()) == 1


async def test_token_limit(tmp_path: Path) -> None:
    def script(asked: Asked) -> Said:
        usage = {"input": 100, "output": 10}
        return Said(calls=[("echo", {"text": str(asked.number)})], usage=usage)

    model = ScriptedModel(script)
    async with opened(tmp_path, model) as session:
        with pytest.raises(OutOfBudget, match="300 tokens"):
            await answer(session, limits=Limits(max_tokens=300))
    assert len(model.requests) == 3


async def test_a_call_that_must_not_run_twice_waits_for_a_person(tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    @tool(repeatable=False)
    def mail(to: str) -> ToolResult:
        """Send mail."""
        runs["mail"] += 1
        if runs["mail"] == 1:
            raise Killed
        return ToolResult(text="sent")

    model = ScriptedModel([Said(calls=[("mail", {"to": "x"})]), Said("ok")])
    async with opened(tmp_path, model, tools=[mail]) as session:
        with pytest.raises(Killed):
            await answer(session)
    async with opened(tmp_path, model, tools=[mail]) as session:
        with pytest.raises(WaitingForPerson, match=r"mail\(.*answer job --run-again"):
            await answer(session)
    assert runs["mail"] == 1
    from deskwork.tasks.records import decide

    async with opened(tmp_path, model, tools=[mail]) as session:
        journal, blobs = session.writer.journal, session.blobs
        session.writer.release("stopped")
        decide(journal, blobs, "job", None)
    async with opened(tmp_path, model, tools=[mail]) as session:
        assert await answer(session) == "ok"
    assert runs["mail"] == 2


async def test_a_person_may_give_the_result_instead(tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    @tool(repeatable=False)
    def mail(to: str) -> ToolResult:
        """Send mail."""
        runs["mail"] += 1
        raise Killed

    model = ScriptedModel([Said(calls=[("mail", {"to": "x"})]), Said("ok")])
    async with opened(tmp_path, model, tools=[mail]) as session:
        with pytest.raises(Killed):
            await answer(session)
    from deskwork.tasks.records import decide

    async with opened(tmp_path, model, tools=[mail]) as session:
        session.writer.release("stopped")
        decide(session.writer.journal, session.blobs, "job", "I looked: it was sent.")
    async with opened(tmp_path, model, tools=[mail]) as session:
        assert await answer(session) == "ok"
    assert runs["mail"] == 1
    assert model.requests[1].results == ["I looked: it was sent."]


async def test_a_long_result_is_stored_and_its_head_shown(tmp_path: Path) -> None:
    from deskwork.tools.results import read_result

    @tool(repeatable=True)
    def long() -> ToolResult:
        """Say much."""
        return ToolResult(text="0123456789" * 10_000)

    def script(asked: Asked) -> Said:
        if asked.number == 1:
            return Said(calls=[("long", {})])
        if asked.number == 2:
            (text,) = asked.results
            match = re.search(r"result '(\w+)' and offset (\d+)", text)
            assert match
            given = {"result": match.group(1), "offset": 99_990}
            return Said(calls=[("read_result", given)])
        return Said(asked.results[0])

    model = ScriptedModel(script)
    async with opened(tmp_path, model, tools=[long, read_result]) as session:
        assert await answer(session) == "0123456789"
    assert len(model.requests[1].results[0]) < 41_000


async def test_a_picture_is_encoded_and_stored_once(tmp_path: Path, profile: Profile) -> None:
    noise = Image.effect_noise((400, 300), 90).convert("RGB")
    picture = io.BytesIO()
    noise.save(picture, "PNG")
    model = ScriptedModel(
        lambda a: Said(calls=[("echo", {"text": str(a.number)})]) if a.number < 20 else Said("ok")
    )
    async with opened(tmp_path, model, profile=profile) as session:
        await answer(session, images=(picture.getvalue(),))
    stored = [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]
    assert [path.stat().st_size for path in stored] == [len(picture.getvalue())]
    size = len(picture.getvalue())
    assert (tmp_path / "journal.db").stat().st_size < 0.5 * size


@pytest.mark.parametrize("tier", ["low", "high", "max"])
def test_every_profile_maps_every_tier(tier: str) -> None:
    for name in builtin():
        assert find_profile(name, None, None).effective(tier, nearest=True)  # type: ignore[arg-type]


async def test_one_decision_covers_one_start(tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    @tool(repeatable=False)
    def mail(to: str) -> ToolResult:
        """Send mail."""
        runs["mail"] += 1
        raise Killed

    from deskwork.tasks.records import decide

    model = ScriptedModel([Said(calls=[("mail", {"to": "x"})]), Said("ok")])
    async with opened(tmp_path, model, tools=[mail]) as session:
        with pytest.raises(Killed):
            await answer(session)
    async with opened(tmp_path, model, tools=[mail]) as session:
        session.writer.release("stopped")
        decide(session.writer.journal, session.blobs, "job", None)
    async with opened(tmp_path, model, tools=[mail]) as session:
        with pytest.raises(Killed):
            await answer(session)
    async with opened(tmp_path, model, tools=[mail]) as session:
        with pytest.raises(WaitingForPerson):
            await answer(session)
    assert runs["mail"] == 2


@pytest.mark.parametrize(
    "arguments",
    ['{"text": NaN}', "[" * 100_000, '{"text": "a"} x', '"{\\"text\\": 1e999}"'],
    ids=["nan", "deep", "tail", "infinite"],
)
async def test_arguments_that_json_can_not_hold_are_told(
    tmp_path: Path, profile: Profile, arguments: str
) -> None:
    model = ScriptedModel([Said(calls=[("echo", arguments)]), Said("ok")])
    async with opened(tmp_path, model, profile=profile) as session:
        assert await answer(session) == "ok"
    assert model.requests[1].results[0].startswith("Error: ")
    async with opened(tmp_path, model, profile=profile) as session:
        assert await answer(session) == "ok"
