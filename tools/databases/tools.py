"""The tools over the databases of the settings: their tables, and a query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from deskwork.tools.databases.options import Database, opened
from deskwork.tools.databases.statements import checked
from deskwork.tools.documents import markdown_row
from deskwork.tools.errors import NotFound
from deskwork.tools.tool import Tool, ToolResult, tool

MOST_ROWS = 200
_MOST_TABLES = 200
_CELL = 400
_SYSTEM = ("information_schema", "pg_catalog", "pg_toast")


def database_tools(databases: Mapping[str, Database]) -> list[Tool]:
    """The tools over these databases; none where there are none."""
    if not databases:
        return []
    names = ", ".join(databases)
    Name = Annotated[str, Field(description=f"One of: {names}.")]  # noqa: N806 - a type

    def found(name: str) -> Database:
        if name not in databases:
            raise NotFound(f"There is no database {name!r}.", f"Databases: {names}.")
        return databases[name]

    def list_database_tables(name: Any) -> ToolResult:
        """List the tables and views of a database with their columns and types."""
        import sqlalchemy as sa

        rows: list[dict[str, Any]] = []
        with opened(found(name)) as connection:
            looked = sa.inspect(connection)
            # Of SQLite, too, the first schema is the usual one, whose name can be left out.
            usual = looked.default_schema_name
            for schema in looked.get_schema_names():
                if schema in _SYSTEM or len(rows) >= _MOST_TABLES:
                    continue
                views = looked.get_view_names(schema)
                for table in [*looked.get_table_names(schema), *views][:_MOST_TABLES]:
                    columns = [
                        f"{column['name']} {column['type']}"
                        for column in looked.get_columns(table, schema)
                    ]
                    shown = table if schema == usual else f"{schema}.{table}"
                    rows.append({"table": shown, "columns": columns, "view": table in views})
        lines = [
            f"{row['table']}{' (view)' if row['view'] else ''}: {', '.join(row['columns'])}"
            for row in rows
        ]
        return ToolResult("\n".join(lines) or f"{name} has no tables.", data=rows)

    def query_database(name: Any, sql: str) -> ToolResult:
        """Ask a database with one SELECT statement (WITH may begin it); nothing can be written.

        The result is a table of at most 200 rows.
        """
        import sqlalchemy as sa

        database, statement = found(name), checked(sql)
        with opened(database) as connection:
            # The driver's own way: a colon or a percent sign in it is no parameter.
            streaming = connection.execution_options(
                stream_results=True, max_row_buffer=MOST_ROWS, no_parameters=True
            )
            result: sa.CursorResult[Any] = streaming.exec_driver_sql(statement)
            columns = list(result.keys())
            rows = [[_shown(value) for value in row] for row in result.fetchmany(MOST_ROWS + 1)]
            result.close()
        more = len(rows) > MOST_ROWS
        rows = rows[:MOST_ROWS]
        count = f"{len(rows)} row{'' if len(rows) == 1 else 's'} from {name}."
        head = f"The first {len(rows)} rows from {name}; there are more." if more else count
        lines = [head, markdown_row(columns), markdown_row(["---"] * len(columns))]
        lines += [markdown_row(["" if cell is None else cell for cell in row]) for row in rows]
        data = {"database": name, "columns": columns, "rows": rows, "more": more}
        return ToolResult("\n".join(lines), data=data)

    list_database_tables.__annotations__["name"] = Name
    query_database.__annotations__["name"] = Name
    query_database.__annotations__["sql"] = Annotated[
        str, Field(description="In the database's own SQL.", max_length=20_000)
    ]
    return [tool(repeatable=True)(list_database_tables), tool(repeatable=True)(query_database)]


def _shown(value: Any) -> str | None:
    if value is None:
        return None
    text = value.hex() if isinstance(value, bytes) else str(value)
    return text if len(text) <= _CELL else text[: _CELL - 1] + "…"
