"""The table ``[web]`` of ``deskwork.toml``, and the keys of the searches that want one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from deskwork.tools.errors import WrongUse
from deskwork.tools.web.addresses import Allowed
from deskwork.tools.web.options import SEARCHES, WebOptions

_NUMBERS = ("max_bytes", "seconds", "max_age", "per_second")
_ADDRESSES = ("searxng_url", "sec_www", "sec_data", "sec_search")
_TEXTS = ("search", *_ADDRESSES, "contact", "brave_key_file", "tavily_key_file")
_HTTP = ("http://", "https://")
_KNOWN = ("enabled", "allow", *_TEXTS, *_NUMBERS)


def read_web(table: Any, key_variables: dict[str, str], contact_variable: str = "") -> WebOptions:
    """The options from their table. ``key_variables`` names each key's environment variable,
    ``contact_variable`` that of the contact.

    Raises `WrongUse` that says which line is wrong, and for a key file that can't be read.
    """
    if not isinstance(table, dict):
        raise WrongUse("web in deskwork.toml is no table.", "Write it as [web].")
    _check(table)
    if contact := os.environ.get(contact_variable, "").strip():
        if not _fits_a_header(contact):
            raise WrongUse(
                f"{contact_variable} holds letters that can't be sent in a header.",
                'Write it in plain letters, such as "Ann Example ann@example.com".',
            )
        table = {**table, "contact": contact}
    given: dict[str, Any] = {
        name: os.environ.get(variable, "").strip() or _from_file(f"{name}_file", table)
        for name, variable in key_variables.items()
    }
    given |= {name: value for name, value in table.items() if not name.endswith("_file")}
    options = WebOptions(**{**given, "allow": tuple(given.get("allow", ()))})
    Allowed.read(options.allow)
    return options


def _check(table: dict[str, Any]) -> None:
    wrong = [name for name in table if name not in _KNOWN]
    if type(table.get("enabled", False)) is not bool:
        wrong.append("enabled")
    wrong += [name for name in _TEXTS if not isinstance(table.get(name, ""), str)]
    for name in _NUMBERS:
        value = table.get(name, 1)
        if type(value) not in (int, float) or value < 0 or (name != "max_age" and not value):
            wrong.append(name)
    allow = table.get("allow", [])
    if not isinstance(allow, list) or not all(isinstance(entry, str) for entry in allow):
        wrong.append("allow")
    if table.get("search", SEARCHES[0]) not in SEARCHES:
        wrong.append("search")
    for name in _ADDRESSES:
        address = table.get(name, "")
        if isinstance(address, str) and address and not address.startswith(_HTTP):
            wrong.append(name)
    contact = table.get("contact", "")
    if isinstance(contact, str) and not _fits_a_header(contact):
        wrong.append("contact")
    if wrong:
        raise WrongUse(
            f"The table [web] in deskwork.toml is not of the right form: {', '.join(wrong)}.",
            f"It holds `enabled`, true or false; `search`, one of {', '.join(SEARCHES)}; `allow`, "
            f"a list of texts; the texts {', '.join(_TEXTS[1:])}; and the numbers "
            f"{', '.join(_NUMBERS)}.",
        )


def _fits_a_header(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _from_file(name: str, table: dict[str, Any]) -> str:
    if not table.get(name):
        return ""
    path = Path(table[name]).expanduser()
    try:
        return path.read_text().strip()
    except (OSError, ValueError) as error:
        raise WrongUse(
            f"The key file {path} of [web] can't be read: {error}.", f"Mend `{name}`."
        ) from None
