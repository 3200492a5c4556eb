"""Profiles as data: every kind of server, a person's own, and tiers that an endpoint lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from deskwork.tasks.profiles import PROTOCOLS, TIERS, builtin, find_profile
from deskwork.tasks.schedule import Schedule, read_schedule
from deskwork.tasks.settings import load_settings
from deskwork.tools.errors import WrongUse

NAMED = [
    *("openai", "anthropic", "moonshot", "deepseek", "vllm", "sglang", "llamacpp"),
    *("openrouter", "gateway", "groq", "mistral", "cerebras", "gemini"),
]


def test_the_table_holds_every_kind_of_server_in_every_protocol() -> None:
    assert sorted(builtin()) == sorted(NAMED)
    for name in NAMED:
        for protocol in PROTOCOLS:
            assert find_profile(name, protocol, None).protocol == protocol


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://api.groq.com/openai/v1", "groq"),
        ("https://generativelanguage.googleapis.com/v1beta/openai", "gemini"),
        ("http://127.0.0.1:8000/v1", "gateway"),
    ],
)
def test_a_profile_is_known_by_its_host(url: str, name: str) -> None:
    assert find_profile(None, None, url).name == name


@pytest.mark.parametrize(
    ("name", "model", "sent"),
    [
        ("moonshot", "kimi-k3", {"reasoning_effort": "max"}),
        ("openai", "gpt-5.2", {"reasoning": {"effort": "xhigh", "summary": "auto"}}),
        ("openai", "gpt-5.6-sol", {"reasoning": {"effort": "max", "summary": "auto"}}),
        ("anthropic", "claude-opus-4-5", {"thinking": {"type": "enabled", "budget_tokens": 32768}}),
        ("llamacpp", "any", {"reasoning_effort": "max", "reasoning_budget_tokens": -1}),
        ("gateway", "any", {"thinking_budget": "max"}),
    ],
)
def test_the_budget_map_follows_the_model(name: str, model: str, sent: dict[str, object]) -> None:
    assert find_profile(name, None, None, model=model).budget["max"] == sent


def test_older_anthropic_budgets_stay_under_the_output_limit() -> None:
    profile = find_profile("anthropic", None, None, model="claude-sonnet-4-5")
    for tier in TIERS:
        tokens = profile.budget[tier]["thinking"]["budget_tokens"]
        assert profile.max_output is not None
        assert 1024 <= tokens < profile.max_output


def test_a_tier_that_is_lacking_is_refused_or_stood_in_for_on_request() -> None:
    profile = find_profile("moonshot", None, None, model="kimi-k2.6")
    with pytest.raises(WrongUse, match=r"'max' is not supported .* it takes: low, high"):
        Schedule().check_against(profile, "max")
    Schedule(missing="nearest").check_against(profile, "max")
    assert profile.effective("max", nearest=True) == "high"
    assert find_profile("openai", None, None, model="gpt-4.1").effective("low", nearest=True) == ""


def test_a_person_s_profile_stands_over_its_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deskwork.toml").write_text(
        """
model_url = "http://models.example.org/v1"
model = "big-1"

[budgets]
draft = "max"
repair = ["max"]
missing = "nearest"

[models."big-1"]
context_window = 1_000_000

[profiles.house]
base = "vllm"
hosts = ["models.example.org"]
max_output = 9000
budget.low = { enable_thinking = true, thinking_budget = 2048 }
"""
    )
    settings = load_settings({"home": str(tmp_path / "home")})
    profile = settings.profile
    assert (profile.name, profile.protocol, profile.max_output) == ("house", "chat", 9000)
    assert profile.reasoning_fields == ("reasoning", "reasoning_content")
    assert profile.budget == {"low": {"enable_thinking": True, "thinking_budget": 2048}}
    assert profile.context_window == 1_000_000
    assert settings.schedule == Schedule(draft="max", repair=("max",), missing="nearest")
    assert settings.with_model("other").profile.context_window is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[profiles.house]\nbase = 'nobody'", "based on 'nobody'"),
        ("[profiles.house]\nhost = ['x']", "sets host, which no profile has"),
        ("[profiles.house]\nbudget.huge = {}", "has the budgets huge"),
        ("[budgets]\nplan = 'huge'", "sets plan to 'huge'"),
        ("[budgets]\nsleep = 'low'", "'sleep', which is no kind of step"),
        ("budgets = 3", "budgets in deskwork.toml is no table"),
        ("[models.m]\nwindow = 3", r"table \[models\]"),
    ],
)
def test_a_wrong_table_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    head = "profile = 'house'\n" if "profiles" in text else ""
    (tmp_path / "deskwork.toml").write_text(f"{head}model = 'm'\nmodel_url = 'http://h/v1'\n{text}")
    with pytest.raises(WrongUse, match=message):
        load_settings({"home": str(tmp_path)})


def test_a_schedule_comes_back_from_a_job_s_record() -> None:
    schedule = Schedule(plan="low", repair=("max",), missing="nearest")
    assert read_schedule(schedule.as_json()) == schedule
    assert schedule.tier("plan", "high") == "low"
    assert schedule.tier("draft", "high") == "high"
    assert schedule.overrides("high") == ["plan at low"]
    assert schedule.overrides("low") == []
