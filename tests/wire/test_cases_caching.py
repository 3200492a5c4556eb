"""The wire cases on prompt caches: frozen bytes, cache marks, and the alarm when hits collapse."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from deskwork.tasks.cache_marks import MARK, without_marks
from deskwork.tasks.cache_watch import collapsed, first_difference
from deskwork.tasks.limits import Limits
from deskwork.tasks.local_model import Said, ScriptedModel
from deskwork.tasks.local_server import Exchange, serve
from deskwork.tasks.profiles import builtin, find_profile
from deskwork.tasks.session import Brief, Session
from deskwork.tasks.states import OutOfBudget
from deskwork.tools.errors import WrongUse
from tests.jobs import answer, opened
from tests.wire.conformance import case, named, staged

WRITTEN = '{"text": "b", "a":1.10}'
PROTOCOLS = ["anthropic", "openai", "moonshot"]


def answering(script: list[Said], bodies: list[bytes]) -> Any:
    """A function for `serve` that tells a script and keeps the bodies."""
    model = ScriptedModel(script)

    def respond(path: str, body: bytes, exchange: Exchange) -> None:
        bodies.append(body)
        status, media, chunks = model.respond(path, body)
        exchange.start(status, media)
        for chunk in chunks:
            exchange.chunk(chunk)
        exchange.chunk(b"")

    return respond


def marks_of(body: bytes) -> list[str]:
    """Where the marks of a request stand, in order."""
    found: list[str] = []
    data = json.loads(body)

    def walk(value: Any, where: str) -> None:
        if isinstance(value, dict):
            if "cache_control" in value:
                found.append(where)
            for name, item in value.items():
                walk(item, f"{where}/{name}")
        elif isinstance(value, list):
            for number, item in enumerate(value):
                walk(item, f"{where}/{number}")

    for name in ("tools", "system", "messages"):
        walk(data.get(name), name)
    return found


@case("cache-anthropic-breakpoints")
async def test_four_marks_that_move_with_the_conversation(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    many = [("echo", {"text": str(number)}) for number in range(13)]
    script = [Said(thinking="t", calls=many) for _ in range(4)] + [Said("End.")]
    bodies: list[bytes] = []
    profile = find_profile("anthropic", None, None)
    with serve(answering(script, bodies)) as url:
        async with opened(tmp_path, None, url=url, profile=profile) as session:
            assert await answer(session, limits=Limits(max_steps=50)) == "End."
    most = given_case["expect"]["next_request"]["max_cache_control"]
    assert len(bodies) == 5
    for body in bodies:
        marks = marks_of(body)
        assert len(marks) <= most
        tools = json.loads(body)["tools"]
        assert marks[:2] == [f"tools/{len(tools) - 1}", "system/0"]
        assert body.count(MARK) == len(marks)
        # One length of time for all marks, so none of an hour stands behind one of five minutes.
        assert b'"ttl"' not in body
    for body in bodies[1:]:
        data = json.loads(body)
        places = [
            (f"messages/{number}/content/{place}", block)
            for number, message in enumerate(data["messages"])
            for place, block in enumerate(message["content"])
        ]
        names = [name for name, _ in places]
        first, last = (names.index(mark) for mark in marks_of(body)[2:])
        assert last == len(names) - 1
        assert 0 < last - first <= 20
        # Each turn adds 27 blocks: the mark before still lies within 20 of the earlier one.
        assert first - 20 <= last - 27
    for earlier, later in itertools.pairwise(map(without_marks, bodies)):
        end = earlier.rindex(b"]}],")
        assert later.startswith(earlier[:end])


@pytest.mark.parametrize("kind", sorted(set(builtin()) - {"anthropic"}))
async def test_no_other_server_is_sent_a_mark(tmp_path: Path, kind: str) -> None:
    with staged() as (url, stage):
        profile = find_profile(kind, None, None)
        async with opened(tmp_path, None, url=url, profile=profile) as session:
            await answer(session)
    assert b"cache_control" not in stage.bodies[0]


def prefix_of(body: bytes) -> bytes:
    """A request up to the end of its messages, marks left out."""
    body = without_marks(body)
    ends = (b'],"store"', b']}],"max_tokens"', b'],"stream"')
    return body[: next(body.rindex(end) for end in ends if end in body[-600:])]


@case("cache-byte-stable")
@pytest.mark.parametrize("kind", PROTOCOLS)
async def test_each_request_begins_with_the_one_before(
    given_case: dict[str, Any], tmp_path: Path, kind: str
) -> None:
    assert "also across process restart" in given_case["given"]["two_requests"]
    script = [
        Said("é", thinking="≈", calls=[("echo", WRITTEN), ("fail", {"text": "x"})]),
        Said(thinking="t", calls=[("echo", '{"text":"\\u00e9"}')]),
        Said(calls=[("echo", {"text": "c"})]),
        Said("End."),
    ]
    bodies: list[bytes] = []
    profile = find_profile(kind, None, None)
    with serve(answering(script, bodies)) as url:
        async with opened(tmp_path, None, url=url, profile=profile) as session:
            with pytest.raises(OutOfBudget):
                await answer(session, limits=Limits(max_steps=2))
        async with opened(tmp_path, None, url=url, profile=profile) as session:
            assert await answer(session) == "End."
    assert len(bodies) == 4
    for earlier, later in itertools.pairwise(bodies):
        assert without_marks(later).startswith(prefix_of(earlier))
    # Fixed separators, letters as they are, arguments as the model wrote them.
    last = bodies[-1].decode()
    assert "é" in last
    if kind != "anthropic":
        assert json.dumps(WRITTEN)[1:-1] in last


@case("cache-hit-drop-alarm")
async def test_a_cache_that_is_lost_is_on_record(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    usages = given_case["given"]["usage_sequence"]
    alarm_at = given_case["expect"]["parsed"]["alarm_at"]
    flags = [collapsed(before, now) for before, now in itertools.pairwise([None, *usages])]
    assert [number for number, flag in enumerate(flags, 1) if flag] == [alarm_at]

    script = [
        Said(calls=[("echo", {"text": str(number)})], usage={**usage, "output": 5})
        for number, usage in enumerate(usages)
    ]
    bodies: list[bytes] = []
    profile = find_profile("openai", "chat", None)
    with serve(answering([*script, Said("End.")], bodies)) as url:
        async with opened(tmp_path, None, url=url, profile=profile) as session:
            assert await answer(session) == "End."
            note = session.history.notes["cache lost"]
            entries = session.writer.journal.entries(session.job)
    assert (note["expected"], note["read"]) == (49_900, 0)
    # The two prefixes, put together anew from the journal, do not differ: the server's loss.
    assert note["differs_at"] is None
    kinds = [entry.kind for entry in entries]
    replies = [place for place, kind in enumerate(kinds) if kind == "assistant"]
    assert kinds[replies[alarm_at - 1] + 1] == "note"
    assert kinds.count("note") == 1


@pytest.mark.parametrize(
    ("earlier", "later", "at"),
    [(b"abc", b"abcd", None), (b"abc", b"abXd", 2), (b"abc", b"ab", 2), (b"", b"a", None)],
)
def test_the_place_where_two_prefixes_differ(earlier: bytes, later: bytes, at: int | None) -> None:
    assert first_difference(earlier, later) == at


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (None, {"cache_read": 0}),
        ({"input": 9000, "cache_read": 8000}, {"input": 9000}),
        ({"input": 9000, "cache_read": 8000}, {"input": 9000, "cache_read": 7000}),
        ({"input": 900, "cache_read": 800}, {"input": 900, "cache_read": 0}),
    ],
)
def test_no_alarm_without_a_cause(before: Any, now: Any) -> None:
    assert not collapsed(before, now)


@case("cache-timestamp-system")
async def test_a_clock_in_the_system_text_is_refused(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    assert given_case["expect"]["next_request"] == {"system_stable": True}

    async def lead(session: Session, system: str) -> None:
        await session.converse("ask", lambda: Brief(system, "At 2026-11-30 12:00:01, what?"))

    with staged() as (url, stage):
        async with opened(tmp_path, None, url=url) as session:
            for clock in ("Today is 2026-11-30T12:00.", "It is 2026-11-30 09:15.", "Now: 9:15:01"):
                with pytest.raises(WrongUse, match="holds the time"):
                    await lead(session, clock)
            await lead(session, "Reports of 2025-12-31 count; answer within 10:1 odds.")
    assert stage.bodies == []


async def test_the_system_text_of_two_jobs_is_the_same(tmp_path: Path) -> None:
    with staged() as (url, stage):
        for job in ("one", "two"):
            async with opened(tmp_path, None, url=url, job=job) as session:
                await answer(session, f"Question of {job}?")
    one, two = stage.bodies
    shared = one.index(b"Question of")
    assert one[:shared] == two[:shared]
    assert b"You are tested." in one[:shared]


@case("cache-tool-order")
@pytest.mark.parametrize("kind", PROTOCOLS)
async def test_tools_go_out_in_one_frozen_order(
    given_case: dict[str, Any], tmp_path: Path, kind: str
) -> None:
    given, expected = given_case["given"], given_case["expect"]["next_request"]["tools_order"]
    profile = find_profile(kind, None, None)

    def names(body: bytes) -> list[str]:
        tools = json.loads(body)["tools"]
        return [tool.get("name") or tool["function"]["name"] for tool in tools]

    bodies: list[bytes] = []
    script = [Said(calls=[("a", {})]), Said("End.")]
    with serve(answering(script, bodies)) as url:
        first = [named(name) for name in given["tools_registered"]]
        async with opened(tmp_path, None, url=url, profile=profile, tools=first) as session:
            with pytest.raises(OutOfBudget):
                await answer(session, limits=Limits(max_steps=1))
        # DESIGN wins over "a tool added in mid-run is a new segment": within a conversation the
        # tools are frozen, so an added one waits for the next conversation and nothing is lost.
        second = [named(name) for name in [*given["second_run"], "added"]]
        async with opened(tmp_path, None, url=url, profile=profile, tools=second) as session:
            assert await answer(session) == "End."
    assert [names(body) for body in bodies] == [expected, expected]
    assert without_marks(bodies[1]).startswith(prefix_of(bodies[0])[:-2])
