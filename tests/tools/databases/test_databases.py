import asyncio
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from deskwork.tasks.connection_settings import read_connections
from deskwork.tools.databases.options import Database, opened
from deskwork.tools.databases.statements import checked
from deskwork.tools.databases.tools import database_tools
from deskwork.tools.desk import DocumentDesk
from deskwork.tools.errors import NotFound, ToolError, WrongUse
from deskwork.tools.library import Library
from deskwork.tools.tool import ToolResult

TABLE = "CREATE TABLE sales (id INTEGER PRIMARY KEY, region TEXT, amount NUMERIC(12,2))"
ROWS = "INSERT INTO sales VALUES (1, 'North', 12.5), (2, 'South: 5%', NULL)"


@pytest.fixture
def database(database_url: str | None, tmp_path: Path) -> Database:
    """A database with a table, in SQLite and in a real PostgreSQL."""
    if database_url is None:
        with sqlite3.connect(tmp_path / "data.db") as connection:
            connection.execute(TABLE)
            connection.execute(ROWS)
        return Database("books", f"sqlite:///{tmp_path / 'data.db'}", seconds=2)
    url = sa.make_url(database_url).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url)
    with engine.begin() as made:
        made.exec_driver_sql(TABLE)
        made.exec_driver_sql(ROWS, execution_options={"no_parameters": True})
    engine.dispose()
    return Database("books", database_url, seconds=2)


def run(database: Database, number: int, **arguments: Any) -> ToolResult:
    tool = database_tools({"books": database})[number]
    home = Path.cwd() / "home"
    desk = DocumentDesk(Library(home).collect([]))
    return asyncio.run(tool.run({"name": "books", **arguments}, desk))


def query(database: Database, sql: str) -> ToolResult:
    return run(database, 1, sql=sql)


def test_tables_and_rows(database: Database) -> None:
    listed = run(database, 0)
    assert listed.data[0]["table"] == "sales"
    assert listed.text.startswith("sales: id INTEGER, region TEXT, amount NUMERIC(12, 2)")
    result = query(
        database, "SELECT region, amount FROM sales WHERE region LIKE '%: 5%' OR id = 1;"
    )
    assert result.data["columns"] == ["region", "amount"]
    assert [row[0] for row in result.data["rows"]] == ["North", "South: 5%"]
    assert "| South: 5% |  |" in result.text
    assert "WITH" in database_tools({"books": database})[1].description
    with pytest.raises(NotFound, match=r"no database 'x'\. Databases: books"):
        run(database, 0, name="x")


def test_long_results_are_cut(database: Database) -> None:
    numbers = "SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 999"
    sql = f"WITH RECURSIVE t(n) AS ({numbers}) SELECT n FROM t"
    result = query(database, sql)
    assert len(result.data["rows"]) == 200
    assert result.text.startswith("The first 200 rows from books; there are more.")


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM sales",
        "UPDATE sales SET region = 'x'",
        "INSERT INTO sales VALUES (3, 'x', 1)",
        "DROP TABLE sales",
        "SELECT 1; DELETE FROM sales",
        "WITH d AS (DELETE FROM sales RETURNING *) SELECT * FROM d",
        "SELECT * INTO copied FROM sales",
        "COPY sales TO '/tmp/x'",
        "ATTACH DATABASE '/tmp/x.db' AS x",
        "PRAGMA query_only = OFF",
        "BEGIN; SELECT 1",
        "/* SELECT */ DELETE FROM sales",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT \"pg_read_file\"('/etc/passwd')",
        "SELECT load_extension('x')",
        "SELECT set_config('transaction_read_only', 'off', true)",
        "SELECT nextval('s')",
        "",
    ],
)
def test_only_reading_is_asked(database: Database, sql: str) -> None:
    with pytest.raises(ToolError):
        query(database, sql)
    assert query(database, "SELECT count(*) FROM sales").data["rows"] == [["2"]]


@pytest.mark.parametrize("sql", ["DELETE FROM sales", "CREATE TABLE x (n INTEGER)"])
def test_the_database_itself_refuses_to_write(database: Database, sql: str) -> None:
    with (
        pytest.raises(ToolError, match=r"books refused: .*(readonly|read-only)"),
        opened(database) as connection,
    ):
        connection.exec_driver_sql(sql)
    assert query(database, "SELECT count(*) FROM sales").data["rows"] == [["2"]]


def test_a_long_query_is_stopped(database: Database) -> None:
    began = time.monotonic()
    sql = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t"
    with pytest.raises(ToolError, match="stopped after 2 seconds"):
        query(database, sql)
    assert time.monotonic() - began < 15


def test_errors_are_the_databases_own(database: Database) -> None:
    with pytest.raises(ToolError, match=r"books refused: .*nothing_here"):
        query(database, "SELECT * FROM nothing_here")


def test_words_in_quotes_are_no_statements() -> None:
    assert checked("SELECT 'delete; drop' AS \"update\" -- insert\n;").startswith("SELECT")


def test_settings_hold_no_password(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = read_connections(
        {"databases": {"a": "sqlite:///x.db", "b": {"url": "postgresql://u@h/d", "seconds": 5,
                                                   "password_env": "BOOKS_PASSWORD"}}}
    ).databases  # fmt: skip
    assert (made["a"].url, made["b"].seconds) == ("sqlite:///x.db", 5)
    with pytest.raises(ToolError, match="BOOKS_PASSWORD, which isn't set"):
        made["b"].password()
    monkeypatch.setenv("BOOKS_PASSWORD", "secret")
    assert made["b"].password() == "secret"
    (tmp_path / "p").write_text("filed\n")
    assert Database("c", "x", password_file=str(tmp_path / "p")).password() == "filed"
    for wrong in (
        {"a": "postgresql://u:secret@h/d"},
        {"a": "mysql://u@h/d"},
        {"a": {"address": "x"}},
        {"a-b": "sqlite:///x"},
        {"a": {"url": "sqlite:///x", "seconds": 0}},
    ):
        with pytest.raises(WrongUse) as told:
            read_connections({"databases": wrong})
        assert "secret" not in str(told.value)
