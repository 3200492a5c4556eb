"""The plain Python calls: one async function per flow."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from deskwork.flows.launching import launch
from deskwork.tasks.briefing_requests import BriefingRequest, request_by_hand
from deskwork.tasks.briefings import read_briefing
from deskwork.tasks.delivery.targets import check_here
from deskwork.tasks.encoding import clean
from deskwork.tasks.issues import check_filings, issue_of
from deskwork.tasks.limits import Limits
from deskwork.tasks.outcomes import Outcome
from deskwork.tasks.profiles import Tier
from deskwork.tasks.question_sets import read_set
from deskwork.tasks.records_paths import output_path
from deskwork.tasks.requests import (
    AskRequest,
    DocumentsRequest,
    EvaluationRequest,
    ResearchRequest,
)
from deskwork.tasks.schedule import Asked
from deskwork.tasks.schema import load_schema
from deskwork.tasks.settings import load_settings
from deskwork.tasks.workbench import Workbench
from deskwork.tools.errors import WrongUse

Checked = TypeVar("Checked", bound=BaseModel)


def checked(kind: type[Checked], **values: Any) -> Checked:
    """A request or limits of these values. Raises `WrongUse` naming the wrong one."""
    try:
        return kind(**values)
    except ValidationError as error:
        row = error.errors()[0]
        name = ".".join(str(part) for part in row["loc"])
        raise WrongUse(f"The {name} can't be {row['input']!r}: {row['msg']}.") from None


def _placed(files: Sequence[str | Path], images: Sequence[str | Path] = ()) -> dict[str, list[Any]]:
    """Paths made absolute, and apart from them what is named by its http address."""
    given = {"files": files, "images": images}
    placed: dict[str, list[Any]] = {
        name: [Path(one).absolute() for one in those if not is_address(one)]
        for name, those in given.items()
    }
    placed["addresses"] = [str(one) for one in (*files, *images) if is_address(one)]
    return placed


def is_address(given: str | Path) -> bool:
    """Whether it names what is to be fetched, by http or https."""
    return isinstance(given, str) and given.lower().startswith(("http://", "https://"))


async def ask(
    question: str,
    *,
    files: Sequence[str | Path] = (),
    images: Sequence[str | Path] = (),
    web: bool | None = None,
    workspace: bool | None = None,
    tools: Sequence[str] = (),
    budget: Asked = "high",
    model: str | None = None,
    limits: Limits | None = None,
    job: str | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> Outcome:
    """Let one agent answer a question, from the documents in ``files`` if there are any.

    ``files`` and ``images`` are paths or http addresses; what lies there is fetched first.
    The same call again goes on with an unfinished job, or starts a new run of a finished one.
    ``web`` lets the model search the web, or not, and ``workspace`` run programs in a sandbox;
    None is as the settings say. ``tools`` are
    names of built-in tools or ``module:attribute`` of your own. ``transport``
    stands in for the network (see `deskwork.tasks.local_model`). Raises `DeskworkError` for
    wrong use; how the job itself ended stands in the outcome's ``state``.
    """
    request = checked(
        AskRequest,
        question=clean(question),
        **_placed(files, images),
        web=web,
        workspace=workspace,
        tools=list(tools),
        budget=budget,
        model=model,
        limits=limits or Limits(),
        job=job,
    )
    return await launch("ask", request, transport)


async def research(
    question: str,
    *,
    files: Sequence[str | Path] = (),
    images: Sequence[str | Path] = (),
    web: bool | None = None,
    workspace: bool | None = None,
    out: str | Path | None = None,
    review_plan: bool = False,
    spread: bool = False,
    budget: Asked = "high",
    model: str | None = None,
    limits: Limits | None = None,
    job: str | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> Outcome:
    """Plan, investigate, draft, check and publish a cited report; ``out`` is its folder.

    With ``review_plan`` the job waits for a person once it has a plan; with ``spread`` workers may
    take up its investigations too.

    As with `ask`, the same call again goes on. The outcome's ``files`` name what was published.
    """
    request = checked(
        ResearchRequest,
        question=clean(question),
        review_plan=review_plan,
        spread=spread,
        **_placed(files, images),
        web=web,
        workspace=workspace,
        out=Path(out).absolute() if out else None,
        budget=budget,
        model=model,
        limits=limits or Limits(),
        job=job,
    )
    return await launch("research", request, transport)


async def briefing(
    file: str | Path,
    *,
    limits: Limits | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> Outcome:
    """Make one run of the standing report in a YAML file, now, and deliver it.

    An unfinished run of the same definition over the same files goes on; else it is a new one,
    compared with the last that came to its end. Raises `WrongUse` that lists what is wrong in the
    file, and `BadFile` for what is no YAML.
    """
    request = request_by_hand(read_briefing(Path(file)))
    check_here(request.delivery)
    check_filings(request.filings_of, load_settings())
    if limits:
        request = request.model_copy(update={"limits": limits})
    return await launch("briefing", await asyncio.to_thread(_by_hand, request), transport)


def _by_hand(request: BriefingRequest) -> BriefingRequest:
    bench = Workbench(load_settings())
    try:
        return issue_of(bench.journal, request, datetime.now(UTC), by_hand=True)
    finally:
        bench.journal.database.close()


async def documents(
    paths: Sequence[str | Path],
    schema: str | Path,
    *,
    out: str | Path | None = None,
    budget: Asked = "auto",
    model: str | None = None,
    limits: Limits | None = None,
    job: str | None = None,
    ocr: bool = False,
    fresh: bool = False,
    transport: httpx.AsyncBaseTransport | None = None,
) -> Outcome:
    """Extract records of a schema from files; ``out`` is the workbook to write.

    ``schema`` is a JSON Schema file, or a pydantic class as ``module:Class`` or ``file.py:Class``.
    Every file has a row in the workbook, those that could not be read too. As with `ask`, the
    same call again goes on, and no file is extracted twice: what another job finished with the
    same content, schema, model and budget is taken from it, unless ``fresh`` asks again. ``ocr``
    reads pages without text by their picture.
    """
    loaded = load_schema(str(schema))
    request = checked(
        DocumentsRequest,
        question=f"Extract records: {loaded.title}",
        **_placed(paths),
        schema_source=loaded.source,
        record_schema=loaded.schema,
        out=output_path(out) if out else None,
        budget=budget,
        model=model,
        limits=limits or Limits(max_steps=None),
        job=job,
        ocr=ocr,
        fresh=fresh,
    )
    return await launch("documents", request, transport)


async def evaluate(
    question_set: str | Path,
    *,
    files: Sequence[str | Path] = (),
    models: Sequence[str] = (),
    budgets: Sequence[Tier] = ("high",),
    scope: Literal["all", "file"] = "all",
    web: bool | None = None,
    out: str | Path | None = None,
    limits: Limits | None = None,
    job: str | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> Outcome:
    """Answer a set of questions over ``files`` and score the answers; ``out`` is a folder.

    Each model answers at each budget, side by side. ``scope`` "file" asks each question over the
    one file that its set names. As with `ask`, the same call again goes on, and no question is
    asked twice. Raises `WrongUse` for a set that can't be read.
    """
    path = Path(question_set).absolute()
    read_set(path)
    request = checked(
        EvaluationRequest,
        question=f"Evaluate: {path.name}",
        files=[Path(file).absolute() for file in files],
        question_set=path,
        set_hash=hashlib.sha256(path.read_bytes()).hexdigest(),
        models=list(models),
        budgets=list(budgets),
        scope=scope,
        web=web,
        out=Path(out).absolute() if out else None,
        limits=limits or Limits(max_steps=None),
        job=job,
    )
    return await launch("evaluate", request, transport)
