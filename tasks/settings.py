"""Settings: flags first, then ``DESKWORK_*`` variables, then ``deskwork.toml``.

The file is read from the current folder, else from the home. The key is a secret: it lives in
memory alone, never in the journal, in flow parameters or in logs.
"""

from __future__ import annotations

import contextlib
import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from deskwork.tasks.allowance import NO_LIMIT, Allowance, read_allowances
from deskwork.tasks.connection_settings import CONNECTIONS, Connections, read_connections
from deskwork.tasks.job_workspace import read_workspace
from deskwork.tasks.profiles import Profile, Table, check_types, find_profile
from deskwork.tasks.reading_settings import read_reading
from deskwork.tasks.schedule import Schedule, read_schedule
from deskwork.tasks.secrets import Secret
from deskwork.tasks.web_settings import read_web
from deskwork.tools.errors import WrongUse
from deskwork.tools.plugins import PROFILES, added
from deskwork.tools.readers import USUAL, Reading
from deskwork.tools.web.options import BY_DEFAULT, WebOptions
from deskwork.tools.workspace.options import WorkspaceOptions

BUILTIN_MODEL = "built-in"
"""The name of the extractive answerer that serves where no endpoint is set."""

_KEYS = {
    "home": "DESKWORK_HOME",
    "model_url": "DESKWORK_MODEL_URL",
    "model": "DESKWORK_MODEL",
    "model_key": "DESKWORK_MODEL_KEY",
    "protocol": "DESKWORK_PROTOCOL",
    "profile": "DESKWORK_PROFILE",
    "database_url": "DESKWORK_DATABASE_URL",
    "blobs_url": "DESKWORK_BLOBS_URL",
    "idle_seconds": "DESKWORK_IDLE_SECONDS",
    "recover": "DESKWORK_RECOVER",
    "log": "DESKWORK_LOG",
}
_KEY_PLACES = {"file": "DESKWORK_MODEL_KEY_FILE", "block": "DESKWORK_MODEL_KEY_BLOCK"}
RECOVER = ("deployed", "all", "none")
"""Which dead runs a worker goes on with: those that a worker had, plain calls' too, or none."""
LOG = ("text", "json")
"""What standard error holds while jobs run: sentences for a person, or a JSON line an event."""

_WEB_KEYS = {"brave_key": "DESKWORK_BRAVE_KEY", "tavily_key": "DESKWORK_TAVILY_KEY"}
_CONTACT = "DESKWORK_CONTACT"
_FILE = "deskwork.toml"


_TABLES = (
    "prices",
    "budgets",
    "profiles",
    "models",
    "endpoints",
    "reading",
    "web",
    "workspace",
    *CONNECTIONS,
)
_PASSWORDS = "passwords"


@dataclass(frozen=True)
class Price:
    """Money for a million tokens: fresh input, output, input from the cache or written into it,
    and thinking, where these cost something else.
    """

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None
    reasoning: float | None = None


@dataclass(frozen=True)
class ModelLimits:
    """What a person knows of a model, in tokens; the endpoint is asked for what is left out."""

    context_window: int | None = None
    max_output: int | None = None
    budget: Mapping[str, dict[str, Any]] | None = None

    def given(self) -> dict[str, Any]:
        """What is known, by the profile's own names."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Settings:
    """What one run uses. ``idle_seconds``: how long an endpoint may be silent in mid-reply.

    ``key_at`` is where the key is that ``model_key`` doesn't hold; it is looked up when the
    endpoint is asked.
    """

    home: Path
    model_url: str | None
    model: str
    profile: Profile
    model_key: str | None = field(default=None, repr=False)
    key_at: Secret | None = None
    database_url: str | None = field(default=None, repr=False)
    blobs_url: str | None = None
    idle_seconds: float = 600.0
    recover: str = RECOVER[0]
    log: str = LOG[0]
    prices: Mapping[str, Price] = field(default_factory=dict)
    schedule: Schedule = field(default_factory=Schedule)
    own_profiles: Mapping[str, Table] = field(default_factory=dict, repr=False)
    models: Mapping[str, ModelLimits] = field(default_factory=dict)
    allowances: Mapping[str, Allowance] = field(default_factory=dict)
    reading: Reading = USUAL
    web: WebOptions = BY_DEFAULT
    workspace: WorkspaceOptions = field(default_factory=WorkspaceOptions)
    connections: Connections = field(default_factory=Connections)

    @property
    def is_builtin(self) -> bool:
        """True when no endpoint is set and the built-in answerer serves."""
        return self.model_url is None

    @property
    def allowance(self) -> Allowance:
        """How much the endpoint may be asked: by host and port, else by host."""
        address = urlsplit(self.model_url or "")
        named = self.allowances.get(address.netloc)
        return named or self.allowances.get(address.hostname or "", NO_LIMIT)

    def elsewhere(self, model: str) -> Settings:
        """These settings for a job that moves to another model. Raises `WrongUse` without one."""
        if self.is_builtin:
            raise WrongUse(
                "No endpoint is set, so there is no other model to move to.",
                "Set DESKWORK_MODEL_URL, and DESKWORK_PROFILE or DESKWORK_PROTOCOL for another "
                "kind of server.",
            )
        return self.with_model(model)

    def with_model(self, model: str | None) -> Settings:
        """The same settings with another model name, and the profile as that model wants it."""
        if not model or model == self.model:
            return self
        profile = find_profile(
            self.profile.name, self.profile.protocol, None, model=model, own=self.own_profiles
        )
        return replace(self, model=model, profile=limited(profile, self.models.get(model)))


def limited(profile: Profile, known: ModelLimits | None) -> Profile:
    """A profile with the limits that a person set for the model."""
    if known is None:
        return profile
    return replace(profile, **known.given())


def load_settings(flags: Mapping[str, str | None] | None = None) -> Settings:
    """Settings from flags, environment and file. Raises `WrongUse` naming the wrong one."""
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    home_text = given.get("home") or os.environ.get("DESKWORK_HOME")
    home = Path(home_text or "~/.deskwork").expanduser().absolute()
    table = _read_file(home)
    values: dict[str, Any] = {name: table[name] for name in _KEYS if name in table}
    for name, variable in _KEYS.items():
        if os.environ.get(variable):
            values[name] = os.environ[variable]
    values |= given
    url = values.get("model_url")
    if url is not None and not str(url).startswith(("http://", "https://")):
        raise WrongUse(
            f"DESKWORK_MODEL_URL is {url!r}, which is no http address.",
            "It looks like http://host:port/v1.",
        )
    if url is not None and not values.get("model"):
        raise WrongUse(
            f"An endpoint is set ({url}) but no model.",
            "Set DESKWORK_MODEL to the model's name there.",
        )
    if url is not None and "@" in urlsplit(str(url)).netloc:
        raise WrongUse(
            "DESKWORK_MODEL_URL holds a name or a password, and addresses are recorded with jobs.",
            "Put the secret into DESKWORK_MODEL_KEY alone.",
        )
    own = _of_tables("profiles", table.get("profiles", {}))
    if url is not None:
        own = {**_of_tables("deskwork.profiles", added(PROFILES)), **own}
    models = _models(table.get("models", {}))
    key, key_at = _key_of(values.get("model_key"))
    model = str(values["model"]) if url else BUILTIN_MODEL
    profile = find_profile(
        values.get("profile") if url else "gateway",
        values.get("protocol") if url else "chat",
        url,
        model=model,
        own=own,
    )
    return Settings(
        home=home,
        model_url=str(url).rstrip("/") if url else None,
        model=model,
        profile=limited(profile, models.get(model)),
        model_key=key,
        key_at=key_at,
        database_url=values.get("database_url"),
        blobs_url=values.get("blobs_url"),
        idle_seconds=_number("idle_seconds", values.get("idle_seconds", 600.0)),
        recover=_one_of(RECOVER, "recover", values),
        log=_one_of(LOG, "log", values),
        prices=_prices(table.get("prices", {})),
        schedule=read_schedule(_of("budgets", table.get("budgets", {}))),
        own_profiles=own,
        models=models,
        allowances=read_allowances(table.get("endpoints", {})),
        reading=read_reading(_of("reading", table.get("reading", {})), table.get(_PASSWORDS, [])),
        web=read_web(table.get("web", {}), _WEB_KEYS, _CONTACT),
        workspace=read_workspace(table.get("workspace", {})),
        connections=read_connections(table),
    )


def _read_file(home: Path) -> dict[str, Any]:
    for path in (Path.cwd() / _FILE, home / _FILE):
        try:
            table = tomllib.loads(path.read_text())
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError) as error:
            raise WrongUse(f"{path} can't be read: {error}.", "Mend it or move it away.") from None
        unknown = set(table) - set(_KEYS) - set(_TABLES) - {_PASSWORDS}
        if unknown:
            raise WrongUse(
                f"{path} sets {', '.join(sorted(unknown))}, which Deskwork doesn't know.",
                f"It knows {', '.join(sorted({*_KEYS, _PASSWORDS}))} and the tables "
                f"{', '.join(f'[{name}]' for name in _TABLES)}.",
            )
        return table
    return {}


def _key_of(value: Any) -> tuple[str | None, Secret | None]:
    """The model's key, or where it is; a variable goes before the file's line."""
    if not os.environ.get(_KEYS["model_key"]):
        for place, variable in _KEY_PLACES.items():
            if named := os.environ.get(variable):
                value = {place: str(Path(named).absolute()) if place == "file" else named}
                break
    if not isinstance(value, dict):
        return checked_key(value, "DESKWORK_MODEL_KEY"), None
    try:
        return None, Secret.model_validate(value)
    except ValidationError:
        raise WrongUse(
            "`model_key` in deskwork.toml is not of the right form.",
            'It is the key, or names its place: {env = "VARIABLE"}, {file = "/PATH"} or '
            '{block = "NAME"}, a Prefect Secret block.',
        ) from None


def checked_key(value: Any, place: str) -> str | None:
    """The key without the line end that files have; it must fit into a header."""
    key = str(value).strip() if value is not None else ""
    if not key.isascii() or not key.isprintable():
        raise WrongUse(f"{place} holds characters that no key has.", "Copy the key once more.")
    return key or None


def _number(name: str, value: Any) -> float:
    with contextlib.suppress(TypeError, ValueError):
        if 0 < float(value) < math.inf:
            return float(value)
    raise WrongUse(f"{name} is {value!r}, which is no number of seconds.")


def _one_of(known: tuple[str, ...], name: str, values: Mapping[str, Any]) -> str:
    value = values.get(name, known[0])
    if value not in known:
        raise WrongUse(f"{_KEYS[name]} is {value!r}.", f"Set it to {' or '.join(known)}.")
    return str(value)


def _of(name: str, table: Any) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise WrongUse(f"{name} in deskwork.toml is no table.", f"Write it as [{name}].")
    return table


def _of_tables(name: str, table: Any) -> dict[str, dict[str, Any]]:
    return {key: _of(f"{name}.{key}", row) for key, row in _of(name, table).items()}


def _prices(table: Any) -> dict[str, Price]:
    try:
        prices = {model: Price(**row) for model, row in table.items()}
        if not all(_is_price(n) for row in prices.values() for n in vars(row).values()):
            raise TypeError
        return prices
    except (TypeError, AttributeError):
        raise WrongUse(
            "The table [prices] in deskwork.toml is not of the right form.",
            '[prices."MODEL"] holds input and output and, where they differ, cached, cache_write '
            "and reasoning: money for a million tokens.",
        ) from None


def _is_price(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and 0 <= value < math.inf)


def _models(table: Any) -> dict[str, ModelLimits]:
    try:
        models = {model: ModelLimits(**row) for model, row in table.items()}
        for row in models.values():
            check_types("the table [models]", row.given())
        return models
    except (TypeError, AttributeError):
        raise WrongUse(
            "The table [models] in deskwork.toml is not of the right form.",
            '[models."MODEL"] holds context_window and max_output, in tokens.',
        ) from None
