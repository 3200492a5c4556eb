"""The commands over the record: jobs, show, fork, answer, verify, usage."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from deskwork.tasks import forks, records
from deskwork.tasks.asking import GIVEN_UP
from deskwork.tasks.delivery.record import decide_deliveries, undecided
from deskwork.tasks.starts import moved_settings
from deskwork.tasks.workbench import opened
from deskwork.tools.errors import WrongUse

USAGE_COLUMNS = (
    *(
        "calls",
        "input",
        "cache_read",
        "cache_write",
        "output",
        "reasoning",
        "cost",
        "seconds",
        "tools",
    ),
)
"""The columns of `usage` that are shown first, in this order."""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def jobs(as_json: bool) -> None:
    """List the jobs, the newest last."""
    with opened() as bench:
        rows = records.job_rows(bench.journal)
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False))
        return
    if not rows:
        click.echo("No jobs yet.", err=True)
        return
    _print_table(
        ["job", "state", "updated", "title"],
        [[row["job"], row["state"], _when(row["updated"]), row["title"]] for row in rows],
    )


@click.command()
@click.argument("job")
@click.option("--json", "as_json", is_flag=True, help="Print settings and entries as JSON.")
def show(job: str, as_json: bool) -> None:
    """Show JOB: its state, its settings, and every entry of its history."""
    with opened() as bench:
        record = records.job_record(bench.journal, bench.blobs, job)
    if as_json:
        click.echo(json.dumps(record, ensure_ascii=False))
        return
    click.echo(f"{record['job']}: {record['state']}")
    if record["reason"]:
        click.echo(record["reason"])
    for name, value in record["settings"].items():
        click.echo(f"  {name}: {value}")
    for child in record["children"]:
        click.echo(f"  part: {child['job']} ({child['state']}) {child['title']}")
    for entry in record["entries"]:
        click.echo(
            f"{entry['seq']:>5} {entry['digest'][:10]} {entry['role']:<12} {records.summary(entry)}"
        )
    if record["answer"]:
        click.echo(f"\n{record['answer']}")


@click.command()
@click.argument("job")
@click.option("--at", type=click.IntRange(1), required=True, help="Keep the first N entries.")
@click.option("--job", "new_id", help="The new job's id.")
@click.option("--model", help="Let this model go on, at the endpoint and profile now set.")
def fork(job: str, at: int, new_id: str | None, model: str | None) -> None:
    """Make a new job from the first N entries of JOB, and print its id."""
    with opened() as bench:
        settings = None
        if model:
            bench.settings = bench.settings.elsewhere(model)
            settings = moved_settings(bench.recorded_settings())
        name = forks.fork(bench.journal, bench.blobs, job, at, new_id, settings)
    click.echo(name)
    click.echo(f"Go on with `deskwork resume {name}`.", err=True)


@click.command()
@click.argument("job")
@click.option("--run-again", is_flag=True, help="Run the interrupted call or delivery again.")
@click.option("--result", help="Take this text as the call's result.")
@click.option("--give-up", is_flag=True, help="Tell the model that the call's end is unknown.")
@click.option("--sent", is_flag=True, help="Count the interrupted delivery as sent.")
@click.option("--approve", is_flag=True, help="Go by the plan as it is.")
@click.option(
    "--edit",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Go by this plan instead, a JSON file.",
)
def answer(
    job: str,
    run_again: bool,
    result: str | None,
    give_up: bool,
    sent: bool,
    approve: bool,
    edit: Path | None,
) -> None:
    """Decide what a waiting JOB asks: about its plan, a call or a delivery that never ended."""
    if sum([run_again, result is not None, give_up, sent, approve, edit is not None]) != 1:
        raise WrongUse(
            "Say one thing about what the job waits for.",
            "--approve or --edit FILE for a plan; --run-again, --result TEXT or --give-up for "
            "an interrupted call; --run-again or --sent for an interrupted delivery.",
        )
    if approve or edit:
        with opened() as bench:
            records.decide_plan(bench.journal, job, records.plan_in(edit) if edit else True)
        click.echo(f"Go on with `deskwork resume {job}`.", err=True)
        return
    if give_up:
        result = GIVEN_UP
    with opened() as bench:
        if sent or (run_again and undecided(bench.journal, job)):
            calls = decide_deliveries(bench.journal, job, "sent" if sent else "again")
        else:
            calls = records.decide(bench.journal, bench.blobs, job, result)
    for call in calls:
        click.echo(f"decided: {call}", err=True)
    click.echo(f"Go on with `deskwork resume {job}`.", err=True)


@click.command()
@click.argument("job")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def verify(job: str, as_json: bool) -> int:
    """Prove that nothing in JOB's history was altered: walk its chain and check every blob."""
    with opened() as bench:
        found = [forks.verify(bench.journal, bench.blobs, job)]
        found += [
            forks.verify(bench.journal, bench.blobs, child)
            for child in records.descendants(bench.journal, job)
        ]
    if as_json:
        click.echo(json.dumps([vars(row) for row in found]))
        return 6 if any(row.problem for row in found) else 0
    for row in found:
        if row.problem:
            click.echo(f"{row.job}: NOT WHOLE: {row.problem}")
        else:
            click.echo(f"{row.job}: whole, {row.entries} entries, {row.blobs} blobs")
    return 6 if any(row.problem for row in found) else 0


@click.command()
@click.option(
    "--by",
    type=click.Choice(["job", "model", "budget", "tool", "prompt", "toolset"]),
    default="job",
    show_default=True,
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def usage(by: str, as_json: bool) -> None:
    """Tokens, cost, time and tool success of all jobs."""
    with opened() as bench:
        rows = records.usage_rows(bench.journal, by)
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False))
        return
    found = dict.fromkeys(name for row in rows for name in row)
    names = [name for name in (by, *USAGE_COLUMNS) if name in found]
    names += [name for name in found if name not in names]
    # What every row could count and this one didn't is a zero; a cost without a price is none.
    counts = {name for name in names if all(type(r.get(name, 0)) in (int, float) for r in rows)}
    _print_table(
        names,
        [
            [_cell(row.get(name, 0 if name in counts - {"cost"} else None)) for name in names]
            for row in rows
        ],
    )
    if rows and "cost" not in found and by != "tool":
        click.echo('No cost: set prices in deskwork.toml ([prices."MODEL"]).', err=True)
    if by == "prompt":
        click.echo("The text of a prompt: `deskwork show JOB --json`, its system entry.", err=True)


def _print_table(names: list[str], rows: list[list[str]]) -> None:
    console = Console()
    if not console.is_terminal:
        for row in [names, *rows]:
            click.echo("\t".join(" ".join(cell.split()) for cell in row))
        return
    table = Table(box=None)
    for name in names:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_cell(item)}" for name, item in value.items())
    if isinstance(value, float):
        return f"{value:,.4g}" if value < 100 else f"{value:,.0f}"
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _when(seconds: float) -> str:
    local = datetime.datetime.fromtimestamp(seconds).astimezone()
    return local.strftime("%Y-%m-%d %H:%M:%S")


COMMANDS = [jobs, show, fork, answer, verify, usage]
