"""The file of a standing report, ``briefing.yaml``: read and checked, each mistake by its key."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from os.path import normpath
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo

import yaml
from cronsim import CronSim, CronSimError
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from deskwork.tasks.briefing_mistakes import told
from deskwork.tasks.delivery import targets
from deskwork.tasks.delivery.targets import Form, Target
from deskwork.tasks.limits import Limits
from deskwork.tasks.schedule import Asked
from deskwork.tasks.secrets import Secret
from deskwork.tools.errors import BadFile, WrongUse

PLACEHOLDERS = ("date", "company", "form", "accession", "since")
"""What may stand in braces in a question."""
OF_A_FILING = ("company", "form", "accession")
_UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 604800}
_EVERY = re.compile(r"(\d{1,4})\s*([mhdw])")
FORMS: list[Form] = ["md", "html", "docx", "pdf", "xlsx", "json"]


def _interval(text: str) -> str:
    seconds_in(text)
    return text


def _timezone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        raise ValueError("there is no such time zone; it is a name such as Europe/Berlin") from None
    return name


def _cron(text: str) -> str:
    try:
        CronSim(text, datetime.now(UTC))
    except CronSimError as error:
        raise ValueError(
            f"it is no cron expression ({error}); one has five fields, such as 0 7 * * 1-5"
        ) from None
    return text


Interval = Annotated[str, AfterValidator(_interval)]
Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def seconds_in(interval: str) -> int:
    """The seconds of ``30m``, ``6h``, ``1d`` or ``2w``. Raises `ValueError`."""
    found = _EVERY.fullmatch(interval.strip())
    if not found or not int(found[1]):
        raise ValueError("it is a number with m, h, d or w, such as 30m, 6h or 1d")
    return int(found[1]) * _UNITS[found[2]]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Sources(_Part):
    """What the report is made from."""

    files: list[Path] = Field(default=[], description="Folders and files.")
    web: bool | None = Field(default=None, description="Whether the web is used.")
    filings_of: list[Word] = Field(default=[], description="Companies whose SEC filings are used.")

    @model_validator(mode="after")
    def _any(self) -> Self:
        if not (self.files or self.web or self.filings_of):
            raise ValueError("name `files`, `web: true` or `filings_of`: there is nothing to read")
        if self.filings_of and self.web is False:
            raise ValueError("`filings_of` needs the web: leave out `web: false`")
        return self


class Timing(_Part):
    """When it runs: at times, or after every so long."""

    cron: Annotated[str, AfterValidator(_cron)] | None = Field(
        default=None, description="Five fields: minute, hour, day, month, weekday."
    )
    timezone: Annotated[str, AfterValidator(_timezone)] = Field(
        default="UTC", description="The time zone of `cron`."
    )
    every: Interval | None = Field(default=None, description="An interval, such as 6h or 1d.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if bool(self.cron) == bool(self.every):
            raise ValueError("give `cron` (with `timezone`), or `every`")
        return self


class Filings(_Part):
    """New filings that start a run, one for each."""

    forms: list[Word] = Field(min_length=1, description="Forms, such as 10-K; amendments count.")
    companies: list[Word] = Field(min_length=1, description="Tickers, CIKs or names.")
    every: Interval = Field(default="1h", description="How often the SEC is asked.")


class Trigger(_Part):
    """What starts a run instead of a schedule."""

    filings: Filings


class Briefing(_Part):
    """A standing report."""

    name: str = Field(
        pattern=r"^[a-z0-9][a-z0-9-]{0,49}$", description="Small letters, digits and hyphens."
    )
    question: Word = Field(description="What each run answers.")
    sections: list[Word] = Field(default=[], description="Headings or questions, in order.")
    sources: Sources
    schedule: Timing | None = Field(default=None, description="When it runs.")
    trigger: Trigger | None = Field(default=None, description="What starts it.")
    limits: Limits = Field(default=Limits(), description="How much one run may use.")
    budget: Asked = Field(default="high", description="How long the model may think.")
    model: str | None = Field(default=None, description="Another model at the endpoint.")
    outputs: list[Form] = Field(default=FORMS, description="The forms of the report.")
    delivery: list[Target] = Field(default=[], description="Where each report goes.")
    when_unchanged: Literal["deliver", "skip"] = Field(
        default="deliver", description="What happens to a report that says nothing new."
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.schedule and self.trigger:
            raise ValueError("`schedule` or `trigger`, not both")
        named = re.findall(r"\{(\w*)\}", " ".join([self.question, *self.sections]))
        if odd := [name for name in named if name not in PLACEHOLDERS]:
            known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
            raise ValueError(f"{{{odd[0]}}} is no placeholder; there are {known}")
        if not self.trigger and (of := [name for name in named if name in OF_A_FILING]):
            raise ValueError(f"{{{of[0]}}} is known where a filing is the `trigger` alone")
        return self


def read_briefing(path: Path) -> Briefing:
    """The standing report in a file, its relative paths taken from the file's folder.

    Raises `BadFile` for what is no YAML, and `WrongUse` that lists every mistake by its key.
    """
    try:
        value = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadFile(
            f"{path} can't be read: {error.strerror or error}.", "Check its path."
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadFile(f"{path} is no YAML: {' '.join(str(error).split())}.", "Mend it.") from None
    if not isinstance(value, dict):
        raise BadFile(
            f"{path} holds no standing report.", "It begins with `name:`; see docs/briefings.md."
        )
    try:
        briefing = Briefing.model_validate(value)
    except ValidationError as error:
        rows = "\n".join(f"  {told(row, _keys_at(row['loc'][:-1]))}" for row in error.errors())
        raise WrongUse(
            f"{path} is not in order:\n{rows}\n", "docs/briefings.md has each key."
        ) from None
    return _placed(briefing, path.absolute().parent)


def _placed(briefing: Briefing, folder: Path) -> Briefing:
    files = [Path(normpath(folder / file.expanduser())) for file in briefing.sources.files]
    missing = [file for file in files if not file.exists()]
    if missing:
        raise WrongUse(
            f"`sources.files`: {missing[0]} does not exist.",
            "Relative paths begin at the folder of the file that names them.",
        )
    delivery = [
        target.model_copy(update={"path": Path(normpath(folder / target.path.expanduser()))})
        if target.kind == "folder"
        else target
        for target in briefing.delivery
    ]
    sources = briefing.sources.model_copy(update={"files": files})
    return briefing.model_copy(update={"sources": sources, "delivery": delivery})


def _keys_at(where: Sequence[Any]) -> list[str]:
    """The keys that may stand at a place of the file."""
    own: dict[str, type[BaseModel]] = {
        "sources": Sources, "schedule": Timing, "trigger": Trigger, "filings": Filings,
        "limits": Limits, "mail": targets.Mail, "chat": targets.Chat, "webhook": targets.Webhook,
        "folder": targets.Folder, "store": targets.Store, "password": Secret,
        "token": Secret, "url": Secret,
    }  # fmt: skip
    kind = own.get(str(where[-1]), Briefing) if where else Briefing
    return [field.alias or name for name, field in kind.model_fields.items()]
