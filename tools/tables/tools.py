"""The tools that ask the documents' tables in SQL: which there are, and a query over them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Annotated, Any

from pydantic import Field

from deskwork.tools.apart import ask_apart
from deskwork.tools.documents import markdown_row
from deskwork.tools.errors import ToolError
from deskwork.tools.tables.naming import NamedTable, all_tables, tables_named
from deskwork.tools.tool import Desk, ToolResult, tool

MOST_ROWS = 200
SECONDS = 20.0
MOST_CELLS = 5_000_000
"""Cells of all tables of one query."""
_LISTED = 60
_LABELS = 4
_GATHERED = 12


@tool(repeatable=True)
def list_tables(
    desk: Desk,
    file: Annotated[str, Field(description="Only this file's tables.")] = "",
    about: Annotated[
        str, Field(description="Only tables that have all these words in title, columns or rows.")
    ] = "",
) -> ToolResult:
    """List the tables in the documents with the names that query_table knows them by.

    Each with file and page, columns, number of rows, what it says of unit and scale, and its first
    labels.
    """
    words = about.lower().split()
    found = [table for table in all_tables(desk.collection, file) if _has(table, words)]
    if not found:
        raise ToolError(
            f"No table {'about ' + about + ' ' if about else ''}is in {file or 'the documents'}.",
            "Ask without `about`, or read the pages: a table may be printed as text.",
        )
    lines = [_line(table) for table in found[:_LISTED]]
    if len(found) > _LISTED:
        lines.append(f"{len(found) - _LISTED} more: name a `file`, or say what they are `about`.")
    data = [
        {
            "name": table.name,
            "file": table.file,
            "page": table.pages[0],
            "title": table.title,
            "unit": table.unit,
            "rows": len(table.rows),
            "columns": [column.name for column in table.columns],
        }
        for table in found
    ]
    return ToolResult("\n".join(lines), data=data)


@tool(repeatable=True)
def query_table(
    desk: Desk,
    sql: Annotated[
        str, Field(description="One SELECT in DuckDB's SQL; empty: the tables there are.")
    ] = "",
) -> ToolResult:
    """Ask the tables of the documents in SQL (DuckDB; read only). list_tables tells their names.

    Columns of numbers are as printed, without scale ("(1,577)" is -1577); beside one stands its
    text as NAME_text. Each table has _row and _page as well. The result says which rows it comes
    from: cite those before a report rests on them.
    """
    if not sql.strip():
        listed: ToolResult = list_tables.function(desk)
        return listed
    tables = tables_named(desk.collection, re.findall(r"[a-z_][a-z0-9_]*", sql.lower()))
    try:
        answer = answered(tables, sql)
    except ToolError as error:
        raise ToolError(error.message, f"{error.hint} {_there(desk, tables)}".strip()) from None
    return _told(answer, {table.name: table for table in tables})


def answered(tables: Sequence[NamedTable], sql: str, seconds: float = SECONDS) -> dict[str, Any]:
    """What a process apart answers: ``columns``, ``rows`` of texts or None, ``total``; ``origins``
    names tables and ``places`` gives their row numbers for each row. Raises `ToolError`.
    """
    if sum(len(table.rows) * len(table.columns) for table in tables) > MOST_CELLS:
        raise ToolError(
            f"The tables of this query have more than {MOST_CELLS:,} cells.",
            "Ask fewer tables at a time.",
        )
    request = {"sql": sql, "limit": MOST_ROWS, "tables": [_sent(table) for table in tables]}
    return ask_apart("deskwork.tools.tables.worker", request, seconds, "The query")


def _has(table: NamedTable, words: Sequence[str]) -> bool:
    if not words:
        return True
    texts = [table.title, table.name, *(column.name for column in table.columns)]
    for column in table.columns:
        texts += [value for value in column.values if value]
    said = " ".join(texts).lower()
    return all(word in said for word in words)


def _line(table: NamedTable) -> str:
    names = ", ".join(
        f"{column.name} {'text' if column.kind == 'VARCHAR' else 'number'}"
        for column in table.columns
    )
    labels = [value for value in table.columns[0].values if value]
    about = [table.title, table.unit and f"({table.unit})"]
    said = " ".join(filter(None, about))
    head = f"{table.name} · {table.where} · {len(table.rows)} rows" + (f" · {said}" if said else "")
    first = "; ".join(_short(label) for label in labels[:_LABELS])
    return f"{head}\n  columns: {names}" + (f"\n  first: {first}" if first else "")


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else flat[:59] + "…"


def _sent(table: NamedTable) -> dict[str, Any]:
    columns: list[Any] = [
        ("_row", "INTEGER", [str(number) for number in table.rows]),
        ("_page", "INTEGER", [str(number) for number in table.pages]),
        *((column.name, column.kind, column.values) for column in table.columns),
    ]
    return {"name": table.name, "columns": columns}


def _there(desk: Desk, tables: Iterable[NamedTable]) -> str:
    """The tables of a query that failed with their columns, or some names where it had none."""
    known = [
        f"{table.name}({', '.join(column.name for column in table.columns)}, _row, _page)"
        for table in tables
    ]
    if known:
        return "Its tables: " + "; ".join(known) + "."
    names = [table.name for table in islice(all_tables(desk.collection), 20)]
    if not names:
        return "The documents have no table."
    return f"Tables: {', '.join(names)}; list_tables lists all."


def _told(answer: dict[str, Any], tables: dict[str, NamedTable]) -> ToolResult:
    origins: list[str] = answer["origins"]
    columns = list(answer["columns"])
    rows = [["" if cell is None else cell for cell in row] for row in answer["rows"]]
    places: list[list[list[int]]] = answer["places"]
    if origins:
        columns.append("source rows")
        rows = [[*row, _rows(origins, numbers)] for row, numbers in zip(rows, places, strict=True)]
    total = answer["total"]
    count = f"{total:,} row{'' if total == 1 else 's'}"
    shown = count if total <= len(rows) else f"{count}; the first {len(rows)} are shown"
    lines = [shown + "."]
    if rows:
        lines += [markdown_row(columns), markdown_row(["---"] * len(columns))]
        lines += [markdown_row(row) for row in rows]
    for table in tables.values():
        about = " ".join(filter(None, [table.title, table.unit and f"({table.unit})"]))
        lines.append(f"{table.name} = {table.where}" + (f": {about}" if about else ""))
    data = {
        "columns": answer["columns"],
        "rows": answer["rows"],
        "total": total,
        "origins": [
            [
                {"file": tables[name].file, "rows": found, "pages": _pages(tables[name], found)}
                for name, found in zip(origins, numbers, strict=True)
            ]
            for numbers in places
        ],
        "tables": [
            {"name": table.name, "file": table.file, "page": table.pages[0], "unit": table.unit}
            for table in tables.values()
        ],
    }
    return ToolResult("\n".join(lines), data=data)


def _rows(origins: Sequence[str], places: Sequence[Sequence[int]]) -> str:
    parts = []
    for name, numbers in zip(origins, places, strict=True):
        listed = ", ".join(map(str, numbers[:_GATHERED]))
        more = ", …" if len(numbers) > _GATHERED else ""
        parts.append(f"{name}: {listed}{more}" if len(origins) > 1 else listed + more)
    return "; ".join(parts)


def _pages(table: NamedTable, rows: Iterable[int]) -> list[int]:
    at = dict(zip(table.rows, table.pages, strict=True))
    return sorted({at[row] for row in rows if row in at})
