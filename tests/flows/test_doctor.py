"""The doctor's questions to endpoints that are well, and to those that go wrong in silence."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deskwork.flows.probes import Check, Probes
from deskwork.tasks.local_model import Asked, Said, ScriptedModel
from deskwork.tasks.local_server import serve
from deskwork.tasks.profiles import find_profile
from deskwork.tasks.retries import RetryPolicy
from deskwork.tasks.workbench import Workbench
from tests.jobs import settings_in

EFFORTS = {"low": 20, "high": 200, "max": 900}


def well(asked: Asked) -> Said:
    """A model that calls the tool, thinks by its budget, sees, and reads what it thought."""
    body = json.dumps(asked.body)
    effort = re.search(r'"(?:reasoning_effort|thinking_budget|effort)": "(\w+)"', body)
    thought = EFFORTS[effort.group(1)] if effort else 7
    usage = {"input": len(body.split()), "output": thought + 9, "reasoning": thought}
    if "Which colour" in body:
        return Said("Red.", usage=usage)
    if asked.tools and not asked.results:
        return Said(thinking="hm", calls=[("report_number", {"number": 7})], usage=usage)
    return Said("391", thinking="hm", usage=usage)


async def examined(
    tmp_path: Path, answer: Callable[[Asked], Said] | ScriptedModel, profile: str = "vllm"
) -> dict[str, Check]:
    model = answer if isinstance(answer, ScriptedModel) else ScriptedModel(answer)
    with serve(model) as url:
        bench = Workbench(settings_in(tmp_path, find_profile(profile, None, None), url))
        bench.endpoint.retries = RetryPolicy(quick_tries=1)
        try:
            checks = await Probes(bench.endpoint, bench.settings, bench.blobs).all()
        finally:
            await bench.close()
    return {check.name: check for check in checks}


@pytest.mark.parametrize("profile", ["vllm", "gateway", "llamacpp", "anthropic", "openai"])
async def test_an_endpoint_that_is_well(tmp_path: Path, profile: str) -> None:
    checks = await examined(tmp_path, well, profile)
    assert [check for check in checks.values() if not check.ok] == []
    assert "calls tools, thinks" in checks["model"].found
    assert checks["streaming"].found == "streams"
    of = "909 tokens of output" if profile == "anthropic" else "900 tokens of thought"
    assert checks["budget max"].found == f"taken; {of}"
    assert checks["pictures"].found == "sees them"
    if profile in ("vllm", "gateway", "llamacpp"):
        assert re.match(
            r"2000 words of it sent back were counted as \d{4} tokens",
            checks["thinking kept"].found,
        )


async def test_thinking_that_the_template_drops_is_found(tmp_path: Path) -> None:
    def drops(asked: Asked) -> Said:
        said = well(asked)
        body = re.sub(r'"reasoning(_content)?": "[^"]*"', '""', json.dumps(asked.body))
        return Said(said.text, said.calls, said.thinking, usage={"input": len(body.split())})

    kept = (await examined(tmp_path, drops))["thinking kept"]
    assert not kept.ok
    assert kept.found.startswith("thinking history is not rendered")
    assert "DESKWORK_PROFILE" in kept.mend


async def test_a_budget_without_effect_is_found(tmp_path: Path) -> None:
    def deaf(asked: Asked) -> Said:
        said = well(asked)
        return Said(said.text, said.calls, "hm", usage={**(said.usage or {}), "reasoning": 50})

    budgets = (await examined(tmp_path, deaf))["budgets"]
    assert not budgets.ok
    assert budgets.found == "the budget has no effect: 50 tokens at low and at max"


async def test_what_a_server_refuses_is_a_finding(tmp_path: Path) -> None:
    class Blind(ScriptedModel):
        def respond(self, path: str, body: bytes) -> tuple[int, str, list[bytes]]:
            error: dict[str, Any] = {"error": {"message": "no images here", "code": 400}}
            if b"image_url" in body or b'"reasoning_effort":"max"' in body:
                return 400, "application/json", [json.dumps(error).encode()]
            return super().respond(path, body)

    checks = await examined(tmp_path, Blind(well))
    assert {name for name, check in checks.items() if not check.ok} == {"pictures", "budget max"}
    assert "no images here" in checks["pictures"].found


async def test_a_model_that_calls_no_tools_and_one_that_sees_wrongly(tmp_path: Path) -> None:
    def talks(asked: Asked) -> Said:
        said = well(asked)
        return Said("It is blue.", (), said.thinking, usage=said.usage)

    checks = await examined(tmp_path, talks)
    assert not checks["tools"].ok
    assert "said 'It is blue.' of a red square" in checks["pictures"].found


async def test_a_tier_that_the_model_lacks_is_told(tmp_path: Path) -> None:
    checks = await examined(tmp_path, well, "groq")
    assert checks["budget max"].found == "this model lacks it; high could stand in"
    assert "take no earlier thinking back" in checks["thinking kept"].found


async def test_an_endpoint_that_is_not_there(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, url="http://127.0.0.1:9/v1")
    bench = Workbench(settings)
    bench.endpoint.retries = RetryPolicy(quick_tries=1)
    checks = await Probes(bench.endpoint, settings, bench.blobs).all()
    await bench.close()
    assert [(check.name, check.ok) for check in checks] == [("model", False)]
