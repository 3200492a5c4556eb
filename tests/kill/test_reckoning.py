"""The reckoning itself can fail: it sees swapped, missing and repeated things."""

from __future__ import annotations

from typing import Any

import httpx

from deskwork.tasks.local_model import Asked
from deskwork.tasks.local_server import serve
from tests.kill import script
from tests.kill.script import Step, value_of
from tests.kill.server import Model

QUESTION = {"role": "user", "text": script.ask_question("x", 3)}
CALLS = [("look_up", {"key": f"x.0.{place}"}, f"call_{place}") for place in range(2)]
RESULTS = [{"role": "tool", "text": value_of(f"x.0.{n}"), "call": f"call_{n}"} for n in range(2)]


def wrong(*messages: dict[str, Any]) -> int:
    said = {"role": "assistant", "text": "", "calls": CALLS}
    asked = Asked("Step: answer.", [QUESTION, said, *messages], [], {})
    return len(script.wrong_results(asked))


def test_results_out_of_order_missing_or_of_another_call_are_seen() -> None:
    first, second = RESULTS
    assert wrong(first, second) == 0
    assert wrong(second, first) == 2
    assert wrong(first) == 1
    assert wrong(first, second, second) == 1
    assert wrong(first, {**second, "text": first["text"]}) == 1
    assert wrong({**first, "call": "call_1"}, second) == 1


def test_a_recorded_reply_that_is_asked_for_again_is_seen() -> None:
    model = Model(longest=0.0)
    system = {"role": "system", "content": "Step: answer."}
    body = {"messages": [system, {"role": "user", "content": QUESTION["text"]}]}
    step = Step("x", "ask", 0)
    with serve(model.respond) as url:
        for _ in range(2):
            httpx.post(f"{url}/chat/completions", json=body)
        assert model.asked[step] == 2
        assert (model.repeated, model.changed) == ([], [])
        model.finish({step})
        httpx.post(f"{url}/chat/completions", json={**body, "temperature": 1})
    assert (model.repeated, model.changed) == ([step], [step])
