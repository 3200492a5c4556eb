"""The process that runs a query: DuckDB in memory, shut off from files, network and extensions."""

from __future__ import annotations

import json
import sys
from typing import Any

from deskwork.tools.apart import bound
from deskwork.tools.tables import origins

_ADDRESS_SPACE = 3_000_000_000
_MEMORY = "800MB"
_AT_ONCE = 5_000
"""Rows that are inserted or fetched at once."""
_COLUMNS = 100
_CELL = 400
"""Characters of a cell that are shown, at most."""
_GATHERED = 12
"""Row numbers that are told of one row, at most."""
_CLOSED = """
SET threads = 1;
SET memory_limit = '{memory}';
SET temp_directory = '';
SET enable_external_access = false;
SET allow_community_extensions = false;
SET lock_configuration = true;
"""


def main() -> None:
    """Answer the one request on standard input."""
    request = json.load(sys.stdin)
    bound(request["seconds"], _ADDRESS_SPACE)
    import duckdb

    try:
        answer = _answer(request)
    except MemoryError:
        answer = {"refused": "The query needs more memory than it may take."}
    except duckdb.OutOfMemoryException:
        answer = {"refused": "The query needs more memory than it may take."}
    except duckdb.Error as error:
        answer = {"refused": f"The query failed: {_flat(error)}", "kind": "sql"}
    print(json.dumps(answer))


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    import duckdb

    connection = duckdb.connect(
        ":memory:",
        config={
            "python_enable_replacements": "false",  # a variable of this module is no table
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        },
    )
    for table in request["tables"]:
        _load(connection, table)
    connection.execute(_CLOSED.format(memory=_MEMORY))
    sql = request["sql"]
    statements = duckdb.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        return {"refused": "Only one SELECT statement can be asked.", "hint": "WITH may begin it."}
    result, hidden = _executed(connection, sql, {table["name"] for table in request["tables"]})
    names = [column[0] for column in result.description]
    shown = len(names) - hidden
    if shown > _COLUMNS:
        return {"refused": f"The result has {shown} columns; {_COLUMNS} are shown at most."}
    rows: list[list[str | None]] = []
    places: list[list[list[int]]] = []
    total = 0
    while chunk := result.fetchmany(_AT_ONCE):
        total += len(chunk)
        for row in chunk[: request["limit"] - len(rows)]:
            rows.append([_shown(value) for value in row[:shown]])
            places.append([_numbers(value) for value in row[shown:]])
    tables = [name.removeprefix(origins.PREFIX) for name in names[shown:]]
    return {
        "columns": names[:shown],
        "rows": rows,
        "total": total,
        "origins": tables,
        "places": places,
    }


def _executed(connection: Any, sql: str, tables: set[str]) -> tuple[Any, int]:
    """The running query, and how many columns at its end tell where its rows come from."""
    import duckdb

    (tree,) = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchone()
    for variant in origins.variants(json.loads(tree), tables):
        try:
            (text,) = connection.execute(
                "SELECT json_deserialize_sql(?::JSON)", [variant]
            ).fetchone()
            result = connection.execute(text)
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error:
            continue
        hidden = sum(column[0].startswith(origins.PREFIX) for column in result.description)
        return result, hidden
    return connection.execute(sql), 0


def _load(connection: Any, table: dict[str, Any]) -> None:
    columns = table["columns"]
    names = ", ".join(f'"{name}" {kind}' for name, kind, _ in columns)
    connection.execute(f'CREATE TABLE "{table["name"]}" ({names})')
    given = ", ".join(f"unnest(${place}::VARCHAR[])" for place in range(1, len(columns) + 1))
    for start in range(0, len(columns[0][2]), _AT_ONCE):
        values = [values[start : start + _AT_ONCE] for _, _, values in columns]
        connection.execute(f'INSERT INTO "{table["name"]}" SELECT {given}', values)


def _shown(value: Any) -> str | None:
    if value is None:
        return None
    text = str(value)
    return text if len(text) <= _CELL else text[: _CELL - 1] + "…"


def _numbers(value: Any) -> list[int]:
    values = value if isinstance(value, list) else [value]
    return sorted({item for item in values if item is not None})[: _GATHERED + 1]


def _flat(error: Exception) -> str:
    # The lines after the first blank one draw the query with a mark under it.
    return " ".join(str(error).split("\n\n")[0].split())[:600]


if __name__ == "__main__":
    main()
