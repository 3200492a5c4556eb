from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from deskwork.tasks.prefect_database import is_ready, provide, set_mark


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "template.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE flow (id)")
    set_mark(path)
    return path


def test_a_new_home_gets_a_copy(source: Path, tmp_path: Path) -> None:
    database = tmp_path / "prefect.db"
    # Of a database that was deleted without its journal.
    database.with_name("prefect.db-wal").write_bytes(b"old")
    assert provide(database, source)
    assert is_ready(database)
    assert database.read_bytes() == source.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["prefect.db", "template.db"]


def test_an_existing_database_is_left_alone(source: Path, tmp_path: Path) -> None:
    database = tmp_path / "prefect.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE mine (id)")
    before = database.read_bytes()
    assert provide(database, source)
    assert database.read_bytes() == before
    assert not is_ready(database)  # so the server migrates it


def test_what_is_no_database_is_moved_aside(source: Path, tmp_path: Path) -> None:
    database = tmp_path / "prefect.db"
    database.write_bytes(b"not a database, but long enough to look at. " * 100)
    assert provide(database, source)
    assert is_ready(database)
    assert (tmp_path / "prefect.db.broken").read_bytes().startswith(b"not a database")


def test_without_a_template_the_server_makes_its_own(tmp_path: Path) -> None:
    assert not provide(tmp_path / "prefect.db", tmp_path / "missing.db")
    (tmp_path / "other.db").write_bytes(b"")  # of another version, or torn
    assert not provide(tmp_path / "prefect.db", tmp_path / "other.db")
    assert not (tmp_path / "prefect.db").exists()
