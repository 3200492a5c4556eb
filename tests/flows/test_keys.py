"""A key goes to the host alone that this machine has it for."""

from __future__ import annotations

from pathlib import Path

import pytest

from deskwork.flows.running import settings_of
from deskwork.tasks.requests import AskRequest


@pytest.mark.parametrize(
    ("recorded_url", "key"),
    [
        ("http://a.example/v1", "secret"),
        ("http://b.example/v1", None),
        ("http://a.example:8001/v1", None),
    ],
)
def test_a_job_at_another_host_is_sent_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded_url: str, key: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in (
        ("HOME", str(tmp_path)),
        ("MODEL_URL", "http://a.example/v1"),
        ("MODEL", "here"),
        ("MODEL_KEY", "secret"),
    ):
        monkeypatch.setenv(f"DESKWORK_{name}", value)
    recorded = {
        "model": "there",
        "model_url": recorded_url,
        "profile": "gateway",
        "protocol": "chat",
    }
    settings = settings_of(AskRequest(question="?"), recorded)
    assert settings.model_url == recorded_url
    assert settings.model_key == key
    # The same model has moved to where this machine finds it now.
    moved = settings_of(AskRequest(question="?"), {**recorded, "model": "here"})
    assert (moved.model_url, moved.model_key) == ("http://a.example/v1", "secret")
