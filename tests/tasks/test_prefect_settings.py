from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from deskwork.tasks.prefect_settings import (
    Folder,
    ServerInfo,
    client_settings,
    configured_api_url,
    server_settings,
)

OWN = ServerInfo("http://127.0.0.1:14200/api", "http://127.0.0.1:14200", 7, True, Path("/desk"))
NAMED = ServerInfo("https://team/api", "https://team", 0, False, None)


def test_nothing_here_imports_prefect() -> None:
    code = "import sys, deskwork.tasks.machine; print('prefect' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout == "False\n", result.stderr


def test_prefect_reads_what_is_set(tmp_path: Path) -> None:
    """Prefect ignores a name that it doesn't know, so a misspelt one would go unnoticed."""
    code = """
import logging, prefect
from prefect.settings import get_current_settings
s = get_current_settings()
services = s.server.services
print(s.home, s.api.url, s.api.request_timeout, s.client.max_retries)
print(s.server.ephemeral.enabled, s.results.persist_by_default, s.tasks.default_no_cache)
print(s.server.analytics_enabled, s.client.server_version_check_enabled, s.worker.query_seconds)
print(services.task_run_recorder.batch_size, services.task_run_recorder.read_batch_size)
print(services.event_persister.batch_size, services.event_persister.read_batch_size)
print(s.server.ui.api_url, s.server.ui.v2_enabled, s.server.database.timeout)
from prefect.logging.configuration import setup_logging
setup_logging()
print([logging.getLevelName(handler.level) for handler in logging.getLogger().handlers])
"""
    settings = server_settings(Folder(tmp_path), 14200) | client_settings(
        replace(OWN, home=tmp_path)
    )
    env = os.environ | settings
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert result.stdout.splitlines() == [
        f"{tmp_path}/prefect http://127.0.0.1:14200/api 120.0 5",
        "False False True",
        "False False 2.0",
        "100 100",
        "200 50",
        "http://127.0.0.1:14200/api False 60.0",
        "['CRITICAL']",
    ], result.stderr
    assert result.stderr == ""


def test_what_the_user_has_set_wins_except_for_where_our_server_is() -> None:
    env = {"PREFECT_API_REQUEST_TIMEOUT": "1", "PREFECT_API_URL": "x", "PREFECT_HOME": "mine"}
    settings = client_settings(OWN, env)
    assert settings["PREFECT_API_REQUEST_TIMEOUT"] == "1"
    assert settings["PREFECT_API_URL"] == OWN.api_url
    assert settings["PREFECT_HOME"] == "/desk/prefect"


def test_with_a_named_server_the_user_s_profile_stays() -> None:
    settings = client_settings(NAMED, {})
    assert settings["PREFECT_API_URL"] == NAMED.api_url
    assert "PREFECT_HOME" not in settings
    assert "PREFECT_PROFILES_PATH" not in settings


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, "127.0.0.1"),
        ({"no_proxy": "intranet"}, "intranet,127.0.0.1"),
        ({"NO_PROXY": "127.0.0.1,x"}, "127.0.0.1,x"),
        ({"NO_PROXY": "*"}, "*"),
    ],
)
def test_a_proxy_is_never_asked_for_our_server(env: dict[str, str], expected: str) -> None:
    settings = client_settings(OWN, env)
    assert settings["NO_PROXY"] == settings["no_proxy"] == expected


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, "http://team/api"),
        ({"PREFECT_PROFILE": "other"}, "http://other/api"),
        ({"PREFECT_PROFILE": "bare"}, None),
        ({"PREFECT_API_URL": "http://env/api"}, "http://env/api"),
    ],
)
def test_the_active_profile_names_a_server(
    env: dict[str, str], expected: str | None, tmp_path: Path
) -> None:
    (tmp_path / "profiles.toml").write_text("""
active = "team"
[profiles.team]
PREFECT_API_URL = "http://team/api"
[profiles.other]
PREFECT_API_URL = "http://other/api"
[profiles.bare]
""")
    assert configured_api_url({"PREFECT_HOME": str(tmp_path), **env}) == expected


def test_a_broken_profile_names_none(tmp_path: Path) -> None:
    (tmp_path / "profiles.toml").write_text("active = ")
    assert configured_api_url({"PREFECT_HOME": str(tmp_path)}) is None
