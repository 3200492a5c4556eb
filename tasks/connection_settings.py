"""The tables ``[databases]``, ``[mcp]`` and ``[apis]``: what jobs reach besides documents and web.

No secret stands in them: passwords and keys are read from the environment or a file when they are
needed, so that they are never in the history, in flow parameters or in logs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from deskwork.tools.databases.options import Database
from deskwork.tools.errors import WrongUse
from deskwork.tools.remote.mcp import McpServer
from deskwork.tools.remote.openapi import Api
from deskwork.tools.web.addresses import Allowed

CONNECTIONS = ("databases", "mcp", "apis")


@dataclass(frozen=True)
class Connections:
    """What a person named in the settings, each under its name."""

    databases: dict[str, Database] = field(default_factory=dict)
    servers: dict[str, McpServer] = field(default_factory=dict)
    apis: dict[str, Api] = field(default_factory=dict)


def read_connections(tables: dict[str, Any]) -> Connections:
    """The connections of the settings. Raises `WrongUse` naming the wrong row."""
    return Connections(
        {name: _database(name, row) for name, row in _rows(tables, "databases").items()},
        {name: _server(name, row) for name, row in _rows(tables, "mcp").items()},
        {name: _api(name, row) for name, row in _rows(tables, "apis").items()},
    )


def _server(name: str, row: Any) -> McpServer:
    texts, lists = ("url", "key_env"), ("command", "env", "allow")
    made = McpServer(name, **_checked("mcp", name, row, texts, lists, ("seconds",)))
    if bool(made.command) == bool(made.url):
        raise WrongUse(
            f"[mcp.{name}] needs either `command` or `url`.",
            'Write command = ["program", "argument"], or url = "https://host/mcp".',
        )
    return made


def _api(name: str, row: Any) -> Api:
    texts, lists = ("spec", "base", "key_env", "key_header"), ("operations", "allow")
    given = _checked("apis", name, row, texts, lists, ())
    if not given.get("spec"):
        raise WrongUse(f"[apis.{name}] needs `spec`.", "It is a path or an address.")
    made = Api(name, **given)
    Allowed.read(made.allow)
    return made


def _checked(
    kind: str,
    name: str,
    row: Any,
    texts: tuple[str, ...],
    lists: tuple[str, ...],
    numbers: tuple[str, ...],
) -> dict[str, Any]:
    given = row if isinstance(row, dict) else {"": row}
    wrong = [key for key in given if key not in (*texts, *lists, *numbers)]
    wrong += [key for key in texts if not isinstance(given.get(key, ""), str)]
    for key in lists:
        value = given.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            wrong.append(key)
    for key in numbers:
        value = given.get(key, 1)
        if type(value) not in (int, float) or value <= 0:
            wrong.append(key)
    if wrong:
        held = f"the texts {', '.join(texts)} and the lists {', '.join(lists)}"
        more = f", and the numbers {', '.join(numbers)}" if numbers else ""
        raise WrongUse(
            f"[{kind}.{name}] in deskwork.toml is not of the right form: "
            f"{', '.join(wrong) or row}.",
            f"It holds {held}{more}.",
        )
    return {key: tuple(value) if key in lists else value for key, value in given.items()}


def _database(name: str, row: Any) -> Database:
    import sqlalchemy as sa

    given = {"url": row} if isinstance(row, str) else row
    form = 'It is NAME = "url", or a table of url, password_env or password_file, and seconds.'
    try:
        made = Database(name=name, **given)
        url = sa.make_url(made.url)
    except (TypeError, sa.exc.ArgumentError):
        raise WrongUse(f"[databases] {name} is not of the right form.", form) from None
    if not made.seconds or type(made.seconds) not in (int, float) or made.seconds < 0:
        raise WrongUse(f"[databases] {name} has wrong `seconds`.", form)
    if url.password:
        raise WrongUse(
            f"[databases] {name} holds a password in its address.",
            "Name an environment variable as password_env, or a file as password_file.",
        )
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise WrongUse(
            f"[databases] {name} is of a kind that isn't read: {url.get_backend_name()}.",
            "SQLite and PostgreSQL are: only there it is made sure that nothing is written.",
        )
    return made


def _rows(tables: dict[str, Any], kind: str) -> dict[str, Any]:
    rows = tables.get(kind, {})
    if not isinstance(rows, dict):
        raise WrongUse(f"{kind} in deskwork.toml is no table.", f"Write it as [{kind}].")
    for name in rows:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,30}", name):
            raise WrongUse(
                f"[{kind}] has the name {name!r}, which tools can't bear.",
                "Take letters, digits and underscores, a letter first.",
            )
    return rows
