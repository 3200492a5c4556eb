"""Settings: flags first, then ``DESKWORK_*`` variables, then ``deskwork.toml``.

The file is read from the current folder, else from the home. The key is a secret: it lives in
memory alone, never in the journal, in flow parameters or in logs.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from deskwork.tasks.allowance import NO_LIMIT, Allowance, read_allowances
from deskwork.tasks.profiles import Profile, find_profile
from deskwork.tools.errors import WrongUse

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
}
_TABLES = {"prices", "endpoints"}
_FILE = "deskwork.toml"


@dataclass(frozen=True)
class Price:
    """Money for a million tokens: fresh input, input from the cache, output."""

    input: float
    output: float
    cached: float | None = None


@dataclass(frozen=True)
class Settings:
    """What one run uses. ``idle_seconds``: how long an endpoint may be silent in mid-reply."""

    home: Path
    model_url: str | None
    model: str
    profile: Profile
    model_key: str | None = field(default=None, repr=False)
    database_url: str | None = field(default=None, repr=False)
    blobs_url: str | None = None
    idle_seconds: float = 600.0
    prices: Mapping[str, Price] = field(default_factory=dict)
    allowances: Mapping[str, Allowance] = field(default_factory=dict)

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

    def with_model(self, model: str | None) -> Settings:
        """The same settings with another model name."""
        return replace(self, model=model) if model else self


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
    return Settings(
        home=home,
        model_url=str(url).rstrip("/") if url else None,
        model=str(values["model"]) if url else BUILTIN_MODEL,
        profile=find_profile(values.get("profile"), values.get("protocol"), url)
        if url
        else find_profile("gateway", "chat", None),
        model_key=_key(values.get("model_key")),
        database_url=values.get("database_url"),
        blobs_url=values.get("blobs_url"),
        idle_seconds=_number("idle_seconds", values.get("idle_seconds", 600.0)),
        prices=_prices(table.get("prices", {})),
        allowances=read_allowances(table.get("endpoints", {})),
    )


def _read_file(home: Path) -> dict[str, Any]:
    for path in (Path.cwd() / _FILE, home / _FILE):
        try:
            table = tomllib.loads(path.read_text())
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError) as error:
            raise WrongUse(f"{path} can't be read: {error}.", "Mend it or move it away.") from None
        unknown = set(table) - set(_KEYS) - _TABLES
        if unknown:
            raise WrongUse(
                f"{path} sets {', '.join(sorted(unknown))}, which Deskwork doesn't know.",
                f"It knows {', '.join(sorted(_KEYS))} and the tables [prices] and [endpoints].",
            )
        return table
    return {}


def _key(value: Any) -> str | None:
    """The key without the line end that files have; it must fit into a header."""
    key = str(value).strip() if value is not None else ""
    if not key.isascii() or not key.isprintable():
        raise WrongUse(
            "DESKWORK_MODEL_KEY holds characters that no key has.", "Copy the key once more."
        )
    return key or None


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise WrongUse(f"{name} is {value!r}, which is no number.") from None


def _prices(table: Any) -> dict[str, Price]:
    try:
        return {model: Price(**row) for model, row in table.items()}
    except (TypeError, AttributeError):
        raise WrongUse(
            "The table [prices] in deskwork.toml is not of the right form.",
            '[prices."MODEL"] holds input, output and, if it differs, cached: '
            "money for a million tokens.",
        ) from None
