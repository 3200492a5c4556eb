"""Servers and settings that are wrong in ways that cost money, time or the job."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from deskwork.tasks.limits import Limits
from deskwork.tasks.local_model import Asked, Said, ScriptedModel
from deskwork.tasks.model_errors import ContextOverflow, Rejected, Unavailable, retry_after
from deskwork.tasks.model_step import cost_of
from deskwork.tasks.profiles import find_profile
from deskwork.tasks.settings import Price, load_settings
from deskwork.tasks.states import OutOfBudget
from deskwork.tools.errors import WrongUse
from tests.flows.test_succession import entries_of, moved
from tests.jobs import answer, opened

KEY = "sk-0123456789-0123456789-0123456789"


class Answering(httpx.AsyncBaseTransport):
    def __init__(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        self.given = status, body, headers or {}
        self.requests = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        self.requests += 1
        status, body, headers = self.given
        return httpx.Response(status, json=body, headers=headers, request=request)


@pytest.mark.parametrize("window", [100, 4096, 5000])
async def test_a_tiny_window_is_no_endless_hand_over(tmp_path: Path, window: int) -> None:
    model = ScriptedModel([Said("The end.")])
    async with opened(tmp_path, model, window=window) as session:
        assert await answer(session) == "The end."


async def test_a_hand_over_that_fills_the_window_with_the_question_stops_the_job(
    tmp_path: Path,
) -> None:
    def script(asked: Asked) -> Said:
        if "hand-over for yourself" in asked.messages[-1]["text"]:
            return Said("z" * 20_000)
        return Said(calls=[("echo", {"text": "x" * 9000})])

    model = ScriptedModel(script)
    async with opened(tmp_path, model, window=6000) as session:
        with pytest.raises(ContextOverflow, match="alone fill"):
            await answer(session)
    assert len(model.requests) == 2


async def test_hand_overs_that_leave_room_for_one_call_stop_the_job(tmp_path: Path) -> None:
    def script(asked: Asked) -> Said:
        if "hand-over for yourself" in asked.messages[-1]["text"]:
            return Said("HO")
        return Said(calls=[("echo", {"text": "x" * 300})])

    model = ScriptedModel(script)
    async with opened(tmp_path, model, window=300) as session:
        with pytest.raises(ContextOverflow, match="alone fill"):
            await answer(session)
    assert len(model.requests) < 10


async def test_a_model_that_never_hands_over_is_cut_off_after_three_refusals(
    tmp_path: Path,
) -> None:
    model = ScriptedModel(lambda asked: Said(calls=[("echo", {"text": f"{asked.number}" * 6000})]))
    async with opened(tmp_path, model, window=20_000) as session:
        with pytest.raises(OutOfBudget):
            await answer(session, limits=Limits(max_steps=40))
        opened_for = [e.meta.get("why") for e in entries_of(session) if e.kind == "conversation"]
    assert opened_for[1] == "overflow"
    assert max(len(str(asked.body)) for asked in model.requests) < 150_000


async def test_an_overflow_after_every_reply_stops_the_job(tmp_path: Path) -> None:
    class Every(ScriptedModel):
        def respond(self, path: str, body: bytes) -> tuple[int, str, list[bytes]]:
            if b'"tool_call_id"' in body:
                error = {"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}
                return 400, "application/json", [json.dumps(error).encode()]
            return super().respond(path, body)

    model = Every(lambda asked: Said(calls=[("echo", {"text": "same"})]))
    async with opened(tmp_path, model) as session:
        with pytest.raises(ContextOverflow):
            await answer(session)
    assert len(model.requests) == 4


async def test_time_between_runs_is_not_spent_when_a_job_moves(tmp_path: Path) -> None:
    profile = find_profile("gateway", None, None)
    model = ScriptedModel([Said(calls=[("echo", {"text": "a"})])])
    async with opened(tmp_path, model, profile=find_profile("vllm", None, None)) as session:
        with pytest.raises(OutOfBudget):
            await answer(session, limits=Limits(max_steps=1))
    await asyncio.sleep(1.5)
    moved(tmp_path, profile)
    async with opened(tmp_path, ScriptedModel([Said("End.")]), profile=profile) as session:
        assert await answer(session, limits=Limits(max_seconds=1.2)) == "End."
        assert session.history.spend.seconds < 1.2


async def test_a_wait_that_one_server_asked_for_is_not_kept_with_another(tmp_path: Path) -> None:
    slow = Answering(429, {"error": {"message": "slow"}}, {"retry-after": "3600"})
    async with opened(tmp_path, slow, url="http://slow/v1") as session:
        with pytest.raises(Unavailable):
            await answer(session)
    async with opened(tmp_path, ScriptedModel([Said("End.")]), url="http://other/v1") as session:
        assert await answer(session) == "End."


async def test_a_key_that_a_long_message_cuts_is_not_told(tmp_path: Path) -> None:
    echoing = Answering(400, {"error": {"message": "y" * 280 + KEY}})
    async with opened(tmp_path, echoing) as session:
        session.endpoint._key = KEY
        with pytest.raises(Rejected) as caught:
            await answer(session)
    assert KEY[:9] not in caught.value.message


@pytest.mark.parametrize("details", [[1], "x", 7])
async def test_usage_of_a_strange_form_costs_no_second_request(
    tmp_path: Path, details: Any
) -> None:
    body = {
        "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "Hi."}}],
        "usage": {"prompt_tokens": 10, "prompt_tokens_details": details},
    }
    server = Answering(200, body)
    async with opened(tmp_path, server) as session:
        assert await answer(session) == "Hi."
    assert server.requests == 1


def test_parts_that_are_counted_beside_their_whole_cost_nothing_negative() -> None:
    usage = {"input": 10, "cache_read": 1_000_000, "output": 5}
    assert cost_of(Price(3.0, 2.0, cached=0.1), usage) == pytest.approx(0.10001)


@pytest.mark.parametrize("value", ["inf", "1e400", "nan"])
def test_a_wait_without_end_is_no_wait(value: str) -> None:
    assert retry_after({"retry-after": value}) is None


@pytest.mark.parametrize(
    "text",
    [
        '[prices."m"]\ninput = "0.6"\noutput = 1',
        '[prices."m"]\ninput = -1\noutput = 1',
        '[prices."m"]\ninput = nan\noutput = 1',
        '[models."m"]\ncontext_window = "1M"',
        '[models."m"]\nmax_output = 0',
        '[models."m"]\nbudget = {low = 3}',
        "idle_seconds = -1",
        "idle_seconds = nan",
        *(
            f'profile = "house"\n[profiles.house]\nbase = "vllm"\n{line}'
            for line in (
                'budget.low = "x"',
                'headers = "x"',
                "models = [1]",
                'context_window = "big"',
                'reasoning_fields = "reasoning"',
                'ids = "foo"',
                'cache_marks = "yes"',
            )
        ),
        'profile = "house"\n[profiles.house]\nbase = ["vllm"]',
    ],
)
def test_wrong_settings_are_refused_before_anything_is_paid_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deskwork.toml").write_text(
        f'model_url = "http://localhost:9/v1"\nmodel = "m"\n{text}\n'
    )
    with pytest.raises(WrongUse):
        load_settings()
