"""The wire cases on thinking budgets and on what a request must and must not hold."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deskwork.flows.loop import Budget, run_conversation
from deskwork.tasks.limits import Limits
from deskwork.tasks.model_errors import Rejected
from deskwork.tasks.profiles import PROTOCOLS, builtin, find_profile
from deskwork.tasks.protocol import open_codec
from deskwork.tasks.requests import AskRequest
from deskwork.tasks.schedule import Schedule
from deskwork.tasks.session import Brief, opening_meta
from deskwork.tasks.settings import load_settings
from deskwork.tasks.steps import PLAIN
from deskwork.tools.errors import WrongUse
from tests.jobs import answer, opened, settings_in
from tests.wire.conformance import case, named, staged

SAMPLING = ("temperature", "top_p", "top_k")


def a_model_of(pattern: str) -> str:
    """A name of the kind that the case names in words."""
    return "gpt-5.2-chat-latest" if "chat variants" in pattern else pattern


@case("budget-tier-unsupported")
def test_a_tier_that_a_model_lacks_is_an_error_or_a_recorded_substitute(
    given_case: dict[str, Any],
) -> None:
    given, parsed = given_case["given"], given_case["expect"]["parsed"]
    tier = given["setting"]["tier"]
    assert tier == parsed["requested"]
    for pattern, levels in given["models"].items():
        model = a_model_of(pattern)
        vendor = "anthropic" if model.startswith("claude") else "openai"
        profile = find_profile(vendor, None, None, model=model)
        if tier in levels:
            Schedule().check_against(profile, tier)
            continue
        with pytest.raises(WrongUse) as caught:
            Schedule().check_against(profile, tier)
        for level in set(levels) - {"xhigh"}:
            assert level in caught.value.message
        nearest = Schedule(missing="nearest")
        nearest.check_against(profile, tier)
        sent = profile.effective(tier, nearest=True)
        assert sent == levels[0]
        assert profile.budget[sent]["reasoning"]["effort"] == levels[0]


async def test_a_substitute_is_recorded_with_what_was_asked_for(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, find_profile("moonshot", None, None, model="kimi-k2.6"))
    with staged() as (url, stage):
        settings = replace(settings, model="kimi-k2.6", schedule=Schedule(missing="nearest"))
        meta = opening_meta("ask", settings, "max")
        assert (meta["tier"], meta["effective"]) == ("max", "high")
        with pytest.raises(WrongUse):
            opening_meta("ask", replace(settings, schedule=Schedule()), "max")
        async with opened(
            tmp_path, None, url=url, profile=settings.profile, model_name="kimi-k2.6"
        ) as session:
            await answer(session)
    assert stage.requests[0]["thinking"] == {"type": "enabled"}


@case("budget-anthropic-old-param")
async def test_a_newer_model_is_sent_adaptive_thinking(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    expected = given_case["expect"]["next_request"]
    model = given_case["given"]["model"]
    profile = find_profile("anthropic", None, None, model=model)
    with staged() as (url, stage):
        async with opened(tmp_path, None, url=url, profile=profile, model_name=model) as session:
            budgets = [Budget(Limits(), [session])]
            await run_conversation(
                session, "ask", lambda: Brief("Be brief.", "?", (), "max"), budgets, steps=PLAIN
            )
    (request,) = stage.requests
    assert request["thinking"] == expected["thinking"]
    assert request["output_config"] == expected["output_config"]
    text = json.dumps(request)
    assert [name for name in expected["absent"] if f'"{name}"' in text] == []
    # The vendor's own word on the model stands over the table: see tests/tasks/test_discovery.py.


@case("budget-anthropic-old-param")
async def test_the_refusal_of_an_old_parameter_is_not_sent_again(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    with staged(given_case["given"]["response"]) as (url, stage):
        profile = find_profile("anthropic", None, None)
        async with opened(tmp_path, None, url=url, profile=profile) as session:
            with pytest.raises(Rejected, match="use adaptive"):
                await answer(session)
    assert len(stage.bodies) == 1


@case("budget-forced-tool-choice")
async def test_no_choice_of_tools_is_ever_forced(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    # There is no setting that forces a tool, so nothing is to be refused: the field is left out,
    # which is `auto` on every server.
    assert given_case["expect"]["next_request"] == {"tool_choice": "auto"}
    for kind in builtin():
        with staged() as (url, stage):
            profile = find_profile(kind, None, None)
            async with opened(
                tmp_path / kind, None, url=url, profile=profile, tools=[named("f")]
            ) as session:
                await answer(session)
        (request,) = stage.requests
        assert request["tools"]
        assert request.get("tool_choice", "auto") == "auto"
    with pytest.raises(WrongUse, match="tool_choice, which no profile has"):
        find_profile("own", None, None, own={"own": {"tool_choice": "required"}})


@case("budget-k3-invalid-vllm")
async def test_another_value_is_blocked_here_and_never_sent_twice(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    effort = given_case["given"]["request"]["reasoning_effort"]
    with pytest.raises(ValueError, match="budget"):
        AskRequest(question="?", budget=effort)
    with staged(given_case["given"]["response"]) as (url, stage):
        profile = find_profile("vllm", None, None)
        async with opened(tmp_path, None, url=url, profile=profile) as session:
            with pytest.raises(Rejected, match="low, high, max"):
                await answer(session)
    assert len(stage.bodies) == 1


@case("budget-silently-ignored")
def test_a_misspelt_budget_is_an_error_before_anything_is_sent(
    given_case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    effort = given_case["given"]["request"]["reasoning_effort"]
    assert given_case["expect"]["parsed"] == {"local_validation": "error before send"}
    with pytest.raises(ValueError, match="budget"):
        AskRequest(question="?", budget=effort)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deskwork.toml").write_text(f'[budgets]\nplan = "{effort}"\n')
    with pytest.raises(WrongUse, match=effort):
        load_settings({"home": str(tmp_path)})
    # That the budget has an effect is measured by the doctor: see tests/flows/test_doctor.py.


@case("oai-chat-tools-plus-effort")
async def test_tools_with_thinking_go_to_the_responses_protocol(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    given, expected = given_case["given"], given_case["expect"]["next_request"]
    model, tier = given["request"]["model"], given["request"]["reasoning_effort"]
    chat = find_profile("openai", "chat", None, model=model)
    with pytest.raises(WrongUse) as caught:
        Schedule().check_against(chat, tier)
    assert "DESKWORK_PROTOCOL=responses" in caught.value.hint
    # The refusal itself, if it came: told as it is, and not sent again without thinking.
    with staged(given["response"]) as (url, stage):
        async with opened(tmp_path / "chat", None, url=url, profile=chat) as session:
            with pytest.raises(Rejected, match="/v1/responses"):
                await answer(session)
    assert len(stage.bodies) == 1
    with staged() as (url, stage):
        profile = find_profile("openai", None, None, model=model)
        Schedule().check_against(profile, tier)
        async with opened(
            tmp_path / "responses", None, url=url, profile=profile, tools=[named("f")]
        ) as session:
            await answer(session)
    assert stage.paths == ["/v1/responses"]
    assert expected["protocol"] == "openai-responses"
    assert stage.requests[0]["reasoning"]["effort"] == expected["reasoning"]["effort"]


@case("anth-max-tokens-required")
async def test_the_output_limit_is_always_sent_and_fits_the_window(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    assert given_case["expect"]["next_request"] == {"max_tokens": "<int>"}
    for number, (profile, window) in enumerate(
        [
            (find_profile("anthropic", None, None), None),
            (find_profile("gateway", "messages", None), None),
            (find_profile("anthropic", None, None), 20_000),
        ]
    ):
        with staged() as (url, stage):
            async with opened(
                tmp_path / str(number), None, url=url, profile=profile, window=window
            ) as session:
                await answer(session, "word " * 2000)
        limit = stage.requests[0]["max_tokens"]
        assert type(limit) is int
        assert limit == 64_000 if window is None else 10_000 < limit < 18_000


@case("anth-version-2026-10-21")
async def test_the_version_is_pinned_and_no_sampling_is_sent(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    expected = given_case["expect"]["next_request"]
    for kind in builtin():
        for protocol in PROTOCOLS:
            with staged() as (url, stage):
                profile = find_profile(kind, protocol, None)
                async with opened(
                    tmp_path / f"{kind}-{protocol}", None, url=url, profile=profile
                ) as session:
                    await answer(session)
            (request,), (headers,) = stage.requests, stage.headers
            assert [name for name in expected["absent"] if name in request] == []
            version = headers.get("anthropic-version")
            assert version == ("2023-06-01" if protocol == "messages" else None)
    assert sorted(expected["absent"]) == sorted(SAMPLING)


def test_an_endpoint_takes_its_version_from_the_profile() -> None:
    own = {"next": {"base": "anthropic", "headers": {"anthropic-version": "2026-10-21"}}}
    codec = open_codec(find_profile("next", None, None, own=own))
    assert codec.headers(None)["anthropic-version"] == "2026-10-21"
