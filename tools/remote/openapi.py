"""Tools of an HTTP interface that an OpenAPI document describes: its GET operations.

They go through the same guard of addresses as pages of the web. The key goes to the interface's
own host alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from deskwork.tools.errors import DeskworkError, ToolError, WrongUse
from deskwork.tools.masking import masked
from deskwork.tools.remote.described import DescribedTool, described
from deskwork.tools.tool import ToolResult
from deskwork.tools.web.addresses import Allowed, Guard, system_resolver
from deskwork.tools.web.client import Client, Key

_MOST_OPERATIONS = 60
_DEEPEST = 8
_PLAIN = ("type", "enum", "format", "default", "minimum", "maximum", "pattern", "items", "anyOf",
          "oneOf", "minLength", "maxLength", "properties", "description")  # fmt: skip


@dataclass(frozen=True)
class Api:
    """An interface of the settings. ``spec`` is a path or an address; ``base`` the address of its
    server, else the document's own. ``key_env`` names the variable that holds its key, sent as
    ``key_header`` (after "Bearer " in Authorization). ``operations`` are those to take; empty: all.
    ``allow`` names hosts that may be reached though they aren't public.
    """

    name: str
    spec: str
    base: str = ""
    key_env: str = ""
    key_header: str = "Authorization"
    operations: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()


async def api_tools(api: Api) -> list[DescribedTool]:
    """A tool ``NAME_operation`` for each GET. Raises `WrongUse` for a document not to be had."""
    document = await _document(api)
    servers = document.get("servers") or [{}]
    base = (api.base or str(servers[0].get("url", ""))).rstrip("/")
    if urlsplit(base).scheme not in ("http", "https"):
        raise WrongUse(
            f"The interface {api.name} names no server.", f"Set `base` in [apis.{api.name}]."
        )
    client = _client(api, base)
    tools = [
        _tool(api, client, base, path, name, operation, parameters)
        for path, name, operation, parameters in _operations(document)
        if not api.operations or name in api.operations
    ]
    if not tools:
        raise WrongUse(
            f"The interface {api.name} has no GET operation to take.",
            f"Look at `operations` in [apis.{api.name}].",
        )
    return tools[:_MOST_OPERATIONS]


def _client(api: Api, base: str = "") -> Client:
    value = os.environ.get(api.key_env, "") if api.key_env else ""
    bearer = api.key_header.lower() == "authorization" and " " not in value
    key = Key(base, api.key_header, f"Bearer {value}" if bearer else value) if value else None
    return Client(Guard(Allowed.read(api.allow), system_resolver), key=key)


async def _document(api: Api) -> dict[str, Any]:
    import yaml

    try:
        if api.spec.startswith(("http://", "https://")):
            answer = await _client(api).get(api.spec)
            if answer.status != 200:
                raise ToolError(f"it answers with status {answer.status}")
            data = answer.body
        else:
            data = Path(api.spec).expanduser().read_bytes()
        found = json.loads(data) if data.lstrip().startswith(b"{") else yaml.safe_load(data)
        if not isinstance(found, dict) or not isinstance(found.get("paths"), dict):
            raise ValueError("it has no `paths`")
        return found
    except (OSError, ValueError, yaml.YAMLError, DeskworkError) as error:
        raise WrongUse(
            f"The OpenAPI document of {api.name} can't be had: {str(error)[:300]}",
            f"Mend `spec` in [apis.{api.name}].",
        ) from None


def _operations(
    document: dict[str, Any],
) -> Iterator[tuple[str, str, dict[str, Any], list[dict[str, Any]]]]:
    """Path, name, operation and parameters of every GET that needs nothing but path and query."""
    for path, item in document["paths"].items():
        operation = item.get("get") if isinstance(item, dict) else None
        if not isinstance(operation, dict):
            continue
        merged: dict[tuple[str, str], dict[str, Any]] = {}
        for row in [*item.get("parameters", []), *operation.get("parameters", [])]:
            parameter = _resolved(document, row)
            merged[parameter.get("name", ""), parameter.get("in", "")] = parameter
        rows = list(merged.values())
        known = [row for row in rows if row.get("in") in ("path", "query")]
        if any(row.get("required") for row in rows if row not in known):
            continue
        yield path, operation.get("operationId") or f"get {path}", operation, known


def _tool(
    api: Api,
    client: Client,
    base: str,
    path: str,
    name: str,
    operation: dict[str, Any],
    parameters: list[dict[str, Any]],
) -> DescribedTool:
    properties: dict[str, Any] = {}
    for row in parameters:
        schema = {key: row["schema"][key] for key in _PLAIN if key in row.get("schema", {})}
        about = row.get("description") or schema.get("description")
        properties[row["name"]] = {**schema, **({"description": about} if about else {})}
    required = [row["name"] for row in parameters if row.get("required") or row["in"] == "path"]
    schema = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }

    async def call(arguments: dict[str, Any]) -> ToolResult:
        filled, query = path, []
        for row in parameters:
            value = arguments.get(row["name"])
            if value is None:
                continue
            if row["in"] == "path":
                text = quote(_text(value), safe="")
                if text in ("", ".", ".."):
                    raise ToolError(f"{row['name']} can't be {value!r}.")
                filled = filled.replace("{" + row["name"] + "}", text)
            else:
                values = value if isinstance(value, list) else [value]
                query += [(row["name"], _text(one)) for one in values]
        answer = await client.get(base + filled + ("?" + urlencode(query) if query else ""))
        # An interface that echoes its requests would put the key into the history.
        value = os.environ.get(api.key_env) if api.key_env else None
        body = masked(answer.body.decode(errors="replace"), value, "the key")
        failed = answer.status >= 400
        head = f"{api.name} answers with status {answer.status}.\n" if failed else ""
        return ToolResult(head + body, is_error=failed)

    about = "\n\n".join(filter(None, (operation.get("summary"), operation.get("description"))))
    return described(api.name, name, about or f"GET {path}", schema, call, repeatable=True)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value)


def _resolved(document: dict[str, Any], value: Any, depth: int = 0) -> Any:
    """A value with what its references into the document lead to."""
    if isinstance(value, list):
        return [_resolved(document, one, depth) for one in value]
    if not isinstance(value, dict):
        return value
    reference = value.get("$ref")
    if isinstance(reference, str):
        if depth >= _DEEPEST or not reference.startswith("#/"):
            return {}
        found: Any = document
        for part in reference[2:].split("/"):
            key = part.replace("~1", "/").replace("~0", "~")
            found = found.get(key, {}) if isinstance(found, dict) else {}
        return _resolved(document, found, depth + 1)
    return {key: _resolved(document, one, depth) for key, one in value.items()}
