"""The commands that run jobs: ``ask``, ``research``, ``resume``."""

from __future__ import annotations

import asyncio
import glob
import json
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import click

from deskwork.flows import calls
from deskwork.flows.display import Display, complain
from deskwork.flows.launching import launch, request_going_on
from deskwork.flows.stopping import stoppable
from deskwork.tasks.briefings import read_briefing
from deskwork.tasks.journal import FINISHED
from deskwork.tasks.limits import Limits
from deskwork.tasks.outcomes import Outcome, outcome
from deskwork.tasks.records_paths import output_path, outputs
from deskwork.tasks.settings import BUILTIN_MODEL, load_settings
from deskwork.tasks.starts import first_entry, move
from deskwork.tasks.states import EXIT_CODES
from deskwork.tasks.workbench import Workbench
from deskwork.tools.errors import WrongUse

BUILTIN_NOTICE = (
    "No endpoint is set, so no language model is used: the built-in answerer quotes passages "
    "from your files. Set DESKWORK_MODEL_URL and DESKWORK_MODEL for a real model."
)

_PATH = click.Path(path_type=Path)


def _options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def add(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add


_limits = _options(
    click.option("--max-steps", type=click.IntRange(1), help="Model calls, at most."),
    click.option("--max-tokens", type=click.IntRange(1), help="Tokens in and out, at most."),
    click.option("--max-cost", type=click.FloatRange(0, min_open=True), help="Money, at most."),
    click.option(
        "--max-seconds", type=click.FloatRange(0, min_open=True), help="Running time, at most."
    ),
)
_common = _options(
    click.option(
        "--files", multiple=True, help="Folder, file or http address to answer from; repeat."
    ),
    click.option(
        "--image", multiple=True, help="Picture for the model to look at, or its address; repeat."
    ),
    click.option(
        "--web/--no-web",
        default=None,
        help="Let the model search the web and fetch pages; default: as [web] in deskwork.toml. "
        "The built-in answerer has no use for it.",
    ),
    click.option(
        "--workspace/--no-workspace",
        default=None,
        help="Let the model run programs in a sandbox; default: as [workspace] in deskwork.toml.",
    ),
    click.option(
        "--budget",
        type=click.Choice(["low", "high", "max", "auto"]),
        default="high",
        show_default=True,
        help="How long the model thinks at each step; auto: as the question asks.",
    ),
    click.option("--model", help="Another model at the same endpoint."),
    click.option("--job", help="The job's id; left out, it follows from the inputs."),
    _limits,
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
)


@click.command()
@click.argument("text")
@click.option("--tool", "tools", multiple=True, help="Let the model call this tool only; repeat.")
@_common
def ask(text: str, tools: tuple[str, ...], **options: Any) -> int:
    """Let one agent answer TEXT, and print the answer."""
    given = _given(options)
    return _run(calls.ask(text, tools=tools, **given), as_json=options["as_json"])


@click.command()
@click.argument("question")
@click.option("--out", type=_PATH, help="Folder for the report.")
@click.option("--review-plan", is_flag=True, help="Wait with the plan until a person approves it.")
@click.option("--spread", is_flag=True, help="Let workers take up investigations too.")
@_common
def research(
    question: str, out: Path | None, review_plan: bool, spread: bool, **options: Any
) -> int:
    """Research QUESTION: plan, investigate, draft, check, and publish a cited report."""
    given = _given(options)
    return _run(
        calls.research(question, out=out, review_plan=review_plan, spread=spread, **given),
        as_json=options["as_json"],
    )


@click.command()
@click.argument("file", type=_PATH)
@_limits
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def briefing(file: Path, as_json: bool, **options: Any) -> int:
    """Make the standing report in FILE now, say what has changed since the last, and deliver it."""
    given = {name: value for name, value in options.items() if value is not None}
    limits = None
    if given:
        own = read_briefing(file).limits.model_dump()
        limits = calls.checked(Limits, **{**own, **given})
    return _run(calls.briefing(file, limits=limits), as_json=as_json)


@click.command()
@click.argument("paths", nargs=-1, required=True)
@click.option("--schema", required=True, help="A JSON Schema file, or module:Class.")
@click.option("--out", type=_PATH, help="The workbook to write, such as records.xlsx.")
@click.option(
    "--budget",
    type=click.Choice(["low", "high", "max", "auto"]),
    default="auto",
    show_default=True,
    help="How long the model thinks; auto begins low and thinks more on doubt.",
)
@click.option("--ocr", is_flag=True, help="Read pages without text by their picture.")
@click.option("--fresh", is_flag=True, help="Ask again, also for files that are known.")
@click.option("--model", help="Another model at the same endpoint.")
@click.option("--job", help="The job's id; left out, it follows from the inputs.")
@_limits
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def documents(
    paths: tuple[str, ...], schema: str, out: Path | None, as_json: bool, **options: Any
) -> int:
    """Extract records from the files, folders or patterns in PATHS, with evidence for each field.

    Writes a workbook with a row for every input file, the same as JSON, and a page for review.
    """
    limits = {name: options.pop(f"max_{name}") for name in ("steps", "tokens", "cost", "seconds")}
    given = {f"max_{name}": value for name, value in limits.items()}
    job = calls.documents(
        _expanded(paths, out), schema, out=out, limits=calls.checked(Limits, **given), **options
    )
    return _run(job, as_json=as_json)


@click.command()
@click.argument("question_set", type=_PATH)
@click.option("--files", type=_PATH, multiple=True, help="Folder or file to answer from; repeat.")
@click.option("--model", "models", multiple=True, help="A model at the endpoint; repeat.")
@click.option(
    "--budget",
    "budgets",
    type=click.Choice(["low", "high", "max"]),
    multiple=True,
    default=["high"],
    show_default=True,
    help="How long the models think; repeat to compare.",
)
@click.option(
    "--scope",
    type=click.Choice(["all", "file"]),
    default="all",
    show_default=True,
    help="Ask over all files, or over the one that the set names for a question.",
)
@click.option(
    "--web/--no-web", default=None, help="Let the model search the web; not the built-in one."
)
@click.option("--out", type=_PATH, help="Folder for the scores.")
@click.option("--job", help="The job's id; left out, it follows from the inputs.")
@_limits
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def evaluate(question_set: Path, as_json: bool, **options: Any) -> int:
    """Answer the questions of QUESTION_SET and score the answers against its gold answers.

    Takes FinanceBench, TAT-QA, and any JSON Lines with `question` and `answer`.
    """
    limits = {name: options.pop(f"max_{name}") for name in ("steps", "tokens", "cost", "seconds")}
    given = {f"max_{name}": value for name, value in limits.items()}
    job = calls.evaluate(question_set, limits=calls.checked(Limits, **given), **options)
    return _run(job, as_json=as_json)


def _expanded(paths: tuple[str, ...], out: Path | None) -> list[str | Path]:
    """The paths, patterns resolved, without the outputs that an earlier run left among them.

    Raises `WrongUse` for a pattern that nothing fits.
    """
    found: list[str | Path] = []
    written = outputs(output_path(out)) if out else []
    for text in paths:
        if calls.is_address(text):
            found.append(text)
            continue
        if Path(text).exists() or not any(letter in text for letter in "*?["):
            found.append(Path(text))
            continue
        # Not Path.glob: it takes no absolute pattern.
        matches = sorted(Path(match) for match in glob.glob(text, recursive=True))  # noqa: PTH207
        if not matches:
            raise WrongUse(f"No file fits {text}.", "Check the pattern and the folder.")
        found += [match for match in matches if match.absolute() not in written]
    return found


@click.command()
@click.argument("job")
@click.option("--model", help="Go on with this model, at the endpoint and profile now set.")
@_limits
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def resume(job: str, model: str | None, as_json: bool, **options: Any) -> int:
    """Go on with JOB where it stopped; its limits may change, and with --model who thinks."""
    settings = load_settings()
    bench = Workbench(settings.elsewhere(model) if model else settings)
    try:
        found = bench.journal.job(job)
        if found.parent:
            complain(f"Job {job} is part of {found.parent}; that is resumed instead.")
            job = found.parent
        if model:
            _move(bench, job)
        return _resume(bench, job, options, as_json)
    finally:
        bench.journal.database.close()


def _move(bench: Workbench, job: str) -> None:
    if bench.journal.job(job).state in FINISHED:
        raise WrongUse(
            f"Job {job} has come to its end.",
            f"`deskwork fork {job} --at N --model M` goes on from its first N entries.",
        )
    budget = first_entry(bench.journal, job)["settings"]["budget"]
    bench.settings.schedule.check_against(bench.settings.profile, budget)
    if not move(bench.journal, job, bench.recorded_settings()):
        click.echo(f"Job {job} runs with {bench.settings.model} already; going on.", err=True)


def _resume(bench: Workbench, job: str, options: dict[str, Any], as_json: bool) -> int:
    found = bench.journal.job(job)
    if found.state in FINISHED:
        click.echo(f"Job {job} is {found.state} already; this is what it left.", err=True)
        return _print(outcome(bench.journal, job), as_json=as_json)
    changed = {name: value for name, value in options.items() if value is not None}
    flow, request = request_going_on(bench.journal, job, changed)
    return _run(launch(flow, request, going_on=True), as_json=as_json)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    limits = {
        name: options[name]
        for name in ("max_steps", "max_tokens", "max_cost", "max_seconds")
        if options[name] is not None
    }
    return {
        "files": options["files"],
        "images": options["image"],
        "web": options["web"],
        "workspace": options["workspace"],
        "budget": options["budget"],
        "model": options["model"],
        "job": options["job"],
        "limits": calls.checked(Limits, **limits),
    }


def _run(job: Coroutine[Any, Any, Outcome], *, as_json: bool) -> int:
    with Display(quiet=as_json, mute=load_settings().log == "json") as display:

        def report() -> None:
            display.close()
            _print_stopped(display.job, as_json=as_json)

        done = asyncio.run(stoppable(job, report))
    return EXIT_CODES["stopped"] if done is None else _print(done, as_json=as_json)


def _print_stopped(job: str, *, as_json: bool) -> None:
    if not job:
        complain("Stopped.", "Run the same command again and it goes on.")
        return
    bench = Workbench(load_settings())
    try:
        _print(outcome(bench.journal, job), as_json=as_json)
    finally:
        bench.journal.database.close()
        sys.stdout.flush()


def _print(done: Outcome, *, as_json: bool) -> int:
    if as_json:
        click.echo(json.dumps(done.as_json(), ensure_ascii=False))
        return done.exit_code
    if done.answer:
        click.echo(done.answer)
    sys.stdout.flush()
    for path in done.files:
        click.echo(path, err=True)
    if load_settings().model == BUILTIN_MODEL:
        click.echo(BUILTIN_NOTICE, err=True)
    if done.state != "done":
        complain(f"Job {done.job}: {done.state}.", done.reason)
    return done.exit_code


COMMANDS = [ask, research, briefing, documents, evaluate, resume]
