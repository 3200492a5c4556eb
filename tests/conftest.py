from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import postgres

SHARED = Path(os.environ.get("DESKWORK_SHARED", Path(__file__).parents[2] / "shared"))


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test sees the settings, the home or the working folder of whoever runs it."""
    for name in [*os.environ]:
        if name.startswith(("DESKWORK_", "PREFECT_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("DESKWORK_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    if postgres.binaries() is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    with postgres.server() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str | None:
    """None for SQLite under the home, or a new empty database of a real PostgreSQL."""
    if request.param == "sqlite":
        return None
    address = request.getfixturevalue("postgres_server")
    return postgres.create(address, f"test_{secrets.token_hex(6)}")


@pytest.fixture(scope="session")
def financebench() -> Path:
    folder = SHARED / "financebench"
    if not folder.exists():
        pytest.skip(f"{folder} is missing (set DESKWORK_SHARED)")
    return folder
