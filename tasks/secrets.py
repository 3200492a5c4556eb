"""Secrets by name: what a setting or a standing report says of one, and its value where it is used.

The value is looked up on the machine that needs it, when it needs it, and is never recorded.
"""

from __future__ import annotations

import os
from pathlib import Path

import httpx
from pydantic import BaseModel, ConfigDict, Field, model_validator

from deskwork.tasks.prefect_server import credentials
from deskwork.tasks.prefect_settings import Folder, user_setting
from deskwork.tasks.server_record import ServerRecord
from deskwork.tools.errors import Stop, Transient

SECONDS = 30.0
_WORKERS = "your shell, or the worker (`deskwork down` and `deskwork up` after setting it)"


class NoSecret(Stop):
    """A secret isn't where it is said to be."""


class SecretAway(Transient):
    """The Prefect server, which holds a secret, doesn't answer now."""


class Secret(BaseModel):
    """The name of a secret, never its value."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    env: str = Field(
        default="",
        pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$",
        description="The environment variable that holds it.",
    )
    file: str = Field(
        default="",
        pattern=r"^([/~].*)?$",
        description="The file that holds it and nothing else, by its whole path.",
    )
    block: str = Field(default="", description="The Prefect Secret block that holds it.")

    @model_validator(mode="after")
    def _one(self) -> Secret:
        if sum(map(bool, (self.env, self.file, self.block))) != 1:
            raise ValueError("it names one secret: `env: VARIABLE`, `file: PATH` or `block: NAME`")
        return self

    def __str__(self) -> str:
        if self.env:
            return self.env
        return f"the file {self.file}" if self.file else f"the Secret block {self.block}"


async def reveal(secret: Secret, home: Path) -> str:
    """The value of a secret. ``home`` is whose Prefect server has the block, unless one is named.

    Raises `NoSecret` that names it where it is missing, and `SecretAway`.
    """
    return here(secret) if not secret.block else await _of_block(secret.block, home)


def here(secret: Secret) -> str:
    """The value of one in a variable or a file. Raises `NoSecret`."""
    if secret.env:
        value = os.environ.get(secret.env, "")
        if not value:
            raise NoSecret(
                f"The environment variable {secret.env} is not set here.",
                f"Set it for whoever needs it: {_WORKERS}.",
            )
        return value
    try:
        value = Path(secret.file).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or type(error).__name__
        raise NoSecret(
            f"The file of a secret, {secret.file}, can't be read: {cause}.",
            "Put it there, readable for the user that runs Deskwork.",
        ) from None
    if not value:
        raise NoSecret(f"The file of a secret, {secret.file}, is empty.", "Write it there.")
    return value


async def _of_block(name: str, home: Path) -> str:
    recorded = ServerRecord.read(Folder(home).record)
    api = user_setting("PREFECT_API_URL") or (recorded.api_url if recorded else "")
    if not api:
        raise SecretAway(
            f"No Prefect server runs that could hold the Secret block {name}.", "`deskwork up`"
        )
    # A proxy would be asked for 127.0.0.1 too.
    own = recorded is not None and api == recorded.api_url
    path = f"{api}/block_types/slug/secret/block_documents/name/{name}"
    try:
        async with httpx.AsyncClient(
            timeout=SECONDS, trust_env=not own, verify=api.startswith("https://")
        ) as client:
            answer = await client.get(
                path, params={"include_secrets": "true"}, headers=credentials()
            )
            status = answer.status_code
            value = answer.json()["data"]["value"] if status == 200 else ""
    except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
        raise SecretAway(
            f"The Prefect server at {api} gives no answer about the Secret block {name}: "
            f"{type(error).__name__}.",
            "`deskwork status` tells how the server is.",
        ) from None
    if status == 404:
        raise NoSecret(
            f"There is no Prefect Secret block {name!r}.",
            "Make it in the UI under Blocks, or by `prefect block create secret`.",
        )
    if status in (401, 403):
        raise NoSecret(
            f"The Prefect server at {api} refuses to tell the Secret block {name} ({status}).",
            "Set PREFECT_API_KEY or PREFECT_API_AUTH_STRING to what that server expects.",
        )
    if status != 200:
        raise SecretAway(f"The Prefect server at {api} answered {status} about the block {name}.")
    return str(value)
