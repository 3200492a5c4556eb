"""Where a standing report is delivered to, as its YAML file says it. No secret stands in it.

A secret is named: an environment variable, a file or a Prefect Secret block, of the machine that
delivers.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AnyHttpUrl, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from deskwork.tasks.secrets import NoSecret, Secret, here
from deskwork.tools.errors import WrongUse

Form = Literal["md", "html", "docx", "pdf", "xlsx", "json"]
"""A form of the report."""
Address = Annotated[
    str, StringConstraints(strip_whitespace=True, pattern=r"^[^@\s<>,]+@[^@\s<>,]+$")
]


_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Mail(_Part):
    """A mail by SMTP, the report's forms attached."""

    kind: Literal["mail"]
    to: list[Address] = Field(min_length=1, description="Who gets it.")
    sender: Address = Field(alias="from", description="Who it is from.")
    host: str = Field(min_length=1, description="The SMTP server.")
    port: int | None = Field(
        default=None, ge=1, le=65535, description="Its port; left empty, the usual one."
    )
    security: Literal["starttls", "tls", "none"] = Field(
        default="starttls", description="How the connection is kept secret."
    )
    user: str = Field(default="", description="The name to log in with; empty: without a login.")
    password: Secret | None = Field(default=None, description="Where the password is.")
    subject: str = Field(default="", description="The subject; left empty, the report's title.")
    attach: list[Form] | None = Field(
        default=None, description="The forms to attach; left empty, all that are made."
    )

    @model_validator(mode="after")
    def _login(self) -> Mail:
        if bool(self.user) != bool(self.password):
            raise ValueError("`user` and `password` stand together, or neither does")
        if self.user and self.security == "none":
            raise ValueError("a password isn't sent in the clear: `security` is starttls or tls")
        return self

    @property
    def place(self) -> str:
        """The port: 25, 465 or 587 where none is named."""
        usual = {"none": 25, "tls": 465, "starttls": 587}
        return f"{self.host}:{self.port or usual[self.security]}"

    def __str__(self) -> str:
        return f"mail to {', '.join(self.to)}"


class Chat(_Part):
    """A message in a chat, by an Apprise address such as ``slack://...``."""

    kind: Literal["chat"]
    url: Secret = Field(description="Where the Apprise address is, which holds the token.")

    def __str__(self) -> str:
        return f"chat message by {self.url}"


class Webhook(_Part):
    """A POST of the report's data as JSON."""

    kind: Literal["webhook"]
    url: AnyHttpUrl = Field(description="Where to.")
    token: Secret | None = Field(
        default=None, description="Where the bearer token is, if it wants one."
    )

    @model_validator(mode="after")
    def _safe(self) -> Webhook:
        if self.token and self.url.scheme != "https" and self.url.host not in _LOOPBACK:
            raise ValueError("a token isn't sent in the clear: `url` begins with https://")
        return self

    def __str__(self) -> str:
        return f"webhook {self.url}"


class Folder(_Part):
    """A copy of the report's forms in a folder of their own."""

    kind: Literal["folder"]
    path: Path = Field(description="The folder; each run has one of its own in it.")
    forms: list[Form] | None = Field(
        default=None, description="The forms to copy; left empty, all that are made."
    )

    def __str__(self) -> str:
        return f"folder {self.path}"


class Store(_Part):
    """A copy of the report's forms in an object store, by its fsspec address."""

    kind: Literal["store"]
    url: str = Field(
        pattern=r"^[a-z][a-z0-9+]*://.*", description="The address, such as s3://bucket/reports."
    )
    forms: list[Form] | None = Field(
        default=None, description="The forms to copy; left empty, all that are made."
    )

    def __str__(self) -> str:
        return f"object store {self.url}"


Target = Annotated[Mail | Chat | Webhook | Folder | Store, Field(discriminator="kind")]
"""One delivery."""

REPEATABLE = ("folder", "store")
"""Kinds that can be done again without harm; of the others it must be known how they ended."""


def secrets_of(target: Target) -> list[Secret]:
    """The secrets that a delivery needs."""
    named = [getattr(target, name, None) for name in ("password", "url", "token")]
    return [secret for secret in named if isinstance(secret, Secret)]


def check_here(targets: Iterable[Target]) -> None:
    """Raise `WrongUse` for a secret that isn't here, before a run that this process makes."""
    for target in targets:
        for secret in secrets_of(target):
            if secret.block:
                continue  # its server may not run yet
            try:
                here(secret)
            except NoSecret as error:
                raise WrongUse(
                    f"{error.message} The delivery ({target}) needs it.", error.hint
                ) from None
