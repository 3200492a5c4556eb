"""One profile per kind of server: where thinking lives, how the budget maps, which ids.

A profile is data, and the table is `profiles.toml`; a person's own stand in ``deskwork.toml``.
The protocols read what they need from the profile; nothing else knows one server from another.
"""

from __future__ import annotations

import copy
import fnmatch
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib import resources
from typing import Any, Literal, cast, get_args
from urllib.parse import urlsplit

from deskwork.tools.errors import WrongUse

Tier = Literal["low", "high", "max"]
TIERS: tuple[Tier, ...] = get_args(Tier)
Spoken = Literal["chat", "messages", "responses"]
PROTOCOLS: tuple[Spoken, ...] = get_args(Spoken)

Table = Mapping[str, Any]
"""A profile's table as TOML holds it."""

_EFFORTS = ("low", "medium", "high", "xhigh", "max")
"""What servers offer, from the least thinking to the most."""


@dataclass(frozen=True)
class Profile:
    """How one kind of server wants to be spoken to; `profiles.toml` explains each field.

    ``budget`` maps a tier to the body's fields; ``own`` is the table of a profile that a person
    wrote, kept with the job so that it can go on without it.
    """

    name: str
    protocol: Spoken = "chat"
    provider: str = ""
    budget: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    reasoning_fields: tuple[str, ...] = ()
    reasoning_in_content: bool = False
    reasoning_required: bool = False
    reasoning_placeholder: str = ""
    omit_empty_content: bool = False
    ids: Literal["verbatim", "unique"] = "verbatim"
    id_form: str = ""
    output_field: str = "max_tokens"
    max_output: int | None = None
    image_detail: bool = False
    cache_marks: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    context_window: int | None = None
    max_body: int | None = None
    tools_need: str = ""
    refuses_blocks: tuple[str, ...] = ()
    foreign_call: Mapping[str, Any] = field(default_factory=dict)
    own: Table | None = field(default=None, compare=False)

    @property
    def reads_thinking(self) -> bool:
        """True when a server of the chat protocol takes thinking back as text."""
        return bool(self.reasoning_fields) or self.reasoning_in_content

    def effective(self, tier: Tier, *, nearest: bool = False) -> str:
        """The name of the budget that a tier is sent as: itself, or the nearest where allowed.

        An empty name stands for a model that knows no levels. Raises `WrongUse` for a tier that
        the endpoint lacks when no other may stand in for it.
        """
        if tier in self.budget:
            return tier
        if not nearest:
            known = ", ".join(self.budget) or "none"
            raise WrongUse(
                f"The thinking budget {tier!r} is not supported by this model of the profile "
                f"{self.name}; it takes: {known}.",
                'Choose one of these with --budget, or set missing = "nearest" in the table '
                "[budgets] of deskwork.toml to let the nearest stand in, on record.",
            )
        wanted = _EFFORTS.index(tier)
        places = sorted(
            (abs(_EFFORTS.index(name) - wanted), -_EFFORTS.index(name), name)
            for name in self.budget
            if name in _EFFORTS
        )
        return places[0][2] if places else ""


def find_profile(
    name: str | None,
    protocol: str | None,
    url: str | None,
    *,
    model: str = "",
    own: Mapping[str, Table] | None = None,
) -> Profile:
    """The profile by name, else by the endpoint's host, else `gateway`, as a model wants it.

    ``protocol`` overrides the profile's own, so that a gateway can speak any of the three.
    ``own`` are a person's profiles by name. Raises `WrongUse` for a name that isn't known and for
    a table with an unknown field.
    """
    tables = {**builtin(), **{key: _based(key, own or {}) for key in own or {}}}
    if name is None:
        host = urlsplit(url or "").hostname or ""
        name = next((key for key in tables if host in tables[key].get("hosts", ())), "gateway")
    if name not in tables:
        raise WrongUse(
            f"There is no profile {name!r}.",
            f"Set DESKWORK_PROFILE to one of: {', '.join(sorted(tables))}.",
        )
    if protocol is not None and protocol not in PROTOCOLS:
        raise WrongUse(
            f"There is no protocol {protocol!r}.",
            f"Set DESKWORK_PROTOCOL to one of: {', '.join(PROTOCOLS)}.",
        )
    table = _spoken(tables, name, protocol)
    profile = _read(name, _for_model(table, model))
    return replace(profile, own=(own or {}).get(name))


@cache
def builtin() -> dict[str, dict[str, Any]]:
    """The tables that come with Deskwork, by name."""
    text = resources.files("deskwork.tasks").joinpath("profiles.toml").read_text()
    return tomllib.loads(text)


def _based(name: str, own: Mapping[str, Table]) -> dict[str, Any]:
    """A person's table over the profile it is based on."""
    table = dict(own[name])
    base = table.pop("base", name if name in builtin() else "gateway")
    if not isinstance(base, str) or base not in builtin():
        raise WrongUse(
            f"The profile {name!r} is based on {base!r}, which doesn't exist.",
            f"Base it on one of: {', '.join(sorted(builtin()))}.",
        )
    return {**builtin()[base], "hosts": (), **table}


def _spoken(tables: Mapping[str, Table], name: str, protocol: str | None) -> dict[str, Any]:
    """A table as the server is spoken to in a protocol."""
    table = copy.deepcopy(dict(tables[name]))
    spoken = table.pop("spoken", {})
    if protocol is None or protocol == table["protocol"]:
        return table
    native = table["protocol"]
    table = {**table, **_lent(protocol), **spoken.get(protocol, {}), "protocol": protocol}
    if native == "responses" and protocol == "chat":
        # The same levels under the name that chat has for them.
        for row in (table, *table.get("models", [])):
            row["budget"] = {
                tier: {"reasoning_effort": body["reasoning"]["effort"]}
                for tier, body in row["budget"].items()
            }
    return table


def _lent(protocol: str) -> dict[str, Any]:
    """What a protocol itself asks for, whoever serves it."""
    plain: dict[str, Any] = {"headers": {}, "max_output": None, "output_field": "max_tokens"}
    origin = {"messages": "anthropic", "responses": "openai"}.get(protocol)
    if origin is None:
        return plain
    table = builtin()[origin]
    names = ("ids", "id_form", "output_field", "max_output", "headers")
    return {**plain, **{name: table[name] for name in names if name in table}}


def _for_model(table: dict[str, Any], model: str) -> dict[str, Any]:
    """The table with what holds for this model; the first pattern that fits counts."""
    models = table.pop("models", [])
    if not isinstance(models, list) or not all(isinstance(row, dict) for row in models):
        raise WrongUse(f"A profile's models are {models!r}.", "They are tables: [[...models]].")
    for row in models:
        patterns = str(row.get("match", "")).split("|")
        if any(fnmatch.fnmatchcase(model, pattern) for pattern in patterns):
            return {**table, **{key: value for key, value in row.items() if key != "match"}}
    return table


def _read(name: str, table: Mapping[str, Any]) -> Profile:
    known = {item.name for item in fields(Profile)} - {"name", "own"}
    if unknown := sorted(set(table) - known):
        raise WrongUse(
            f"The profile {name!r} sets {', '.join(unknown)}, which no profile has.",
            f"A profile has: {', '.join(sorted(known))}, base, models, spoken.",
        )
    if table.get("protocol") not in PROTOCOLS or not isinstance(table.get("budget", {}), dict):
        raise WrongUse(f"The profile {name!r} names no protocol of {', '.join(PROTOCOLS)}.")
    strange = sorted(set(table.get("budget", {})) - set(_EFFORTS))
    if strange:
        raise WrongUse(
            f"The profile {name!r} has the budgets {', '.join(strange)}.",
            f"A budget is one of: {', '.join(_EFFORTS)}.",
        )
    check_types(f"the profile {name!r}", table)
    values = {
        key: tuple(value) if isinstance(value, list) else value for key, value in table.items()
    }
    return Profile(name, **cast(Any, values))


def check_types(where: str, table: Mapping[str, Any]) -> None:
    """Raise `WrongUse` for a value that would fail only in mid-run, when a reply is paid for."""
    for name, value in table.items():
        if name in ("context_window", "max_output", "max_body"):
            fits = value is None or (type(value) is int and value > 0)
        elif name in ("hosts", "reasoning_fields", "refuses_blocks"):
            fits = isinstance(value, list | tuple) and all(isinstance(v, str) for v in value)
        elif name in ("budget", "headers", "foreign_call"):
            inner = {"budget": dict, "headers": str}.get(name, object)
            fits = isinstance(value, Mapping) and all(isinstance(v, inner) for v in value.values())
        elif name == "ids":
            fits = value in ("verbatim", "unique")
        else:
            plain = getattr(Profile, name, None)
            fits = plain is None or type(value) is type(plain)
        if not fits:
            raise WrongUse(
                f"In {where}, {name} is {value!r}.",
                "Sizes are whole numbers over 0, lists hold texts, budget and headers are tables.",
            )
