"""The file of a standing report: what is read, and how its mistakes are told."""

from __future__ import annotations

import re
import textwrap
from datetime import UTC, datetime
from pathlib import Path

import pytest

from deskwork.tasks.briefing_requests import (
    BriefingRequest,
    NewFiling,
    request_by_hand,
    request_of,
    stated,
    watch_of,
)
from deskwork.tasks.briefings import Briefing, read_briefing, seconds_in
from deskwork.tasks.issues import issue_of
from deskwork.tasks.settings import load_settings
from deskwork.tasks.workbench import Workbench
from deskwork.tools.errors import BadFile, WrongUse

ROOT = Path(__file__).parents[2]
GOOD = """\
name: margins
question: How did margins of {company} develop since {since}, as of {date}?
sources: {filings_of: [NVDA]}
trigger: {filings: {forms: [10-K], companies: [NVDA, MRVL], every: 30m}}
delivery:
  - {kind: mail, to: [a@example.com], from: desk@example.com, host: mail.example.com}
  - {kind: folder, path: out}
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "briefing.yaml"
    path.write_text(textwrap.dedent(text))
    return path


def good(tmp_path: Path, text: str = GOOD) -> Briefing:
    return read_briefing(written(tmp_path, text))


def test_a_file_is_read_and_its_request_can_be_sent_elsewhere(tmp_path: Path) -> None:
    briefing = good(tmp_path)
    request = request_of(briefing)
    assert request.web is True
    assert request.delivery[1].path == tmp_path / "out"  # type: ignore[union-attr]
    assert BriefingRequest.model_validate(stated(request)) == request
    watch = watch_of(briefing)
    assert watch.job == "watch-margins"
    assert stated(watch)["briefing"]["delivery"][0]["from"] == "desk@example.com"


def test_the_sample_is_in_order() -> None:
    briefing = read_briefing(ROOT / "samples" / "briefing.yaml")
    assert [path.name for path in briefing.sources.files] == ["briefing"]
    assert briefing.schedule is not None


def test_the_examples_of_the_documentation_are_in_order(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "briefings.md").read_text()
    examples = re.findall(r"```yaml\n(.*?)```", text, re.S)
    assert len(examples) == 2
    (tmp_path / "reports").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "outlook.docx").touch()
    scheduled, triggered = (good(tmp_path, example) for example in examples)
    assert len(scheduled.delivery) == 5
    assert triggered.trigger is not None
    table = set(re.findall(r"`(\w+)`", text[text.index("| key |") : text.index("Relative paths")]))
    assert set(Briefing.model_fields) <= table


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("name: margins", "name: My Margins", "`name` can't be 'My Margins': small letters"),
        ("name: margins", "colour: red", "`name`: it is missing"),
        ("name: margins", "name: margins\ncolour: red", "`colour`: there is no such key; here"),
        ("{company}", "{compony}", "{compony} is no placeholder; there are {date}, {company}"),
        ("sources: {filings_of: [NVDA]}", "sources: {}", "`sources`: name `files`, `web: true`"),
        ("[NVDA]}\n", "[NVDA], web: false}\n", "`filings_of` needs the web"),
        ("[NVDA]}\n", "[NVDA], wep: true}\n", "`sources.wep`: there is no such key; here stand f"),
        ("[NVDA]}\n", "[NVDA], files: [gone]}\n", "gone does not exist"),
        ("every: 30m", "every: soon", "`trigger.filings.every` can't be 'soon': it is a number"),
        ("every: 30m", "every: 0m", "`trigger.filings.every` can't be '0m'"),
        ("forms: [10-K]", "forms: []", "`trigger.filings.forms` can't be []"),
        ("trigger:", "schedule: {every: 1d}\ntrigger:", "`schedule` or `trigger`, not both"),
        ("to: [a@example.com]", "to: [a]", "`delivery.0.to.0` can't be 'a': it is one mail addr"),
        (
            "kind: folder, path: out",
            "kind: webhook, url: http://a.example, token: {env: T}",
            "`delivery.1`: a token isn't sent in the clear",
        ),
        ("kind: mail", "kind: fax", "`delivery.0`: `kind` is one of mail, chat, webhook, folder"),
        ("host: mail", "user: me, host: mail", "`user` and `password` stand together"),
        ("path: out", "path: out, forms: [doc]", "`delivery.1.forms.0` can't be 'doc': input"),
        ("delivery:", "limits: {max_steps: 0}\ndelivery:", "`limits.max_steps` can't be 0"),
        ("delivery:", "outputs: [txt]\ndelivery:", "`outputs.0` can't be 'txt'"),
        ("delivery:", "when_unchanged: maybe\ndelivery:", "`when_unchanged` can't be 'maybe'"),
    ],
)
def test_a_mistake_is_told_by_its_key(tmp_path: Path, before: str, after: str, told: str) -> None:
    assert before in GOOD
    with pytest.raises(WrongUse) as error:
        good(tmp_path, GOOD.replace(before, after, 1))
    assert told in error.value.message
    assert error.value.hint


@pytest.mark.parametrize(
    ("schedule", "told"),
    [
        ("{cron: '0 7 * *'}", "`schedule.cron` can't be '0 7 * *': it is no cron expression"),
        ("{cron: '0 7 * * *', timezone: Europe/Nowhere}", "there is no such time zone"),
        ("{cron: '0 7 * * *', every: 1d}", "`schedule`: give `cron` (with `timezone`), or `every`"),
        ("{}", "`schedule`: give `cron`"),
    ],
)
def test_a_schedule_that_can_not_be_is_told(tmp_path: Path, schedule: str, told: str) -> None:
    text = f"name: a\nquestion: q\nsources: {{web: true}}\nschedule: {schedule}\n"
    with pytest.raises(WrongUse) as error:
        good(tmp_path, text)
    assert told in error.value.message


def test_a_placeholder_of_filings_needs_the_trigger(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match=r"\{form\} is known where a filing is the `trigger` alone"):
        good(tmp_path, "name: a\nquestion: What of {form}?\nsources: {web: true}\n")


def test_a_secret_in_the_file_is_refused_and_not_shown(tmp_path: Path) -> None:
    text = GOOD.replace("host: mail", "user: me, password: hunter2, host: mail")
    with pytest.raises(WrongUse) as error:
        good(tmp_path, text)
    assert "`delivery.0.password`: write where the secret is" in error.value.message
    assert "hunter2" not in str(error.value)
    with pytest.raises(WrongUse) as error:
        good(tmp_path, text.replace("hunter2", '{env: "hunter 2"}'))
    assert "hunter" not in str(error.value)


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("every: 30m", "every: soon").replace("name: margins", "name: A B")
    with pytest.raises(WrongUse) as error:
        good(tmp_path, text)
    assert error.value.message.count("can't be") == 2


@pytest.mark.parametrize("text", ["a: [", "- a", "just words", "\x00"])
def test_what_is_no_standing_report_is_told(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadFile, match=r"briefing\.yaml (is no YAML|holds no standing report)"):
        good(tmp_path, text)
    with pytest.raises(BadFile, match=r"nothing\.yaml can't be read: No such file"):
        read_briefing(tmp_path / "nothing.yaml")


def test_intervals() -> None:
    assert [seconds_in(text) for text in ("30m", "6h", "1d", "2 w")] == [
        1800, 21600, 86400, 1209600,
    ]  # fmt: skip


def test_a_run_is_named_for_its_moment_or_its_filing(tmp_path: Path) -> None:
    request = request_of(good(tmp_path)).model_copy(update={"timezone": "Asia/Tokyo"})
    bench = Workbench(load_settings())
    moment = datetime(2026, 12, 7, 22, 0, tzinfo=UTC)
    by_schedule = issue_of(bench.journal, request, moment)
    assert by_schedule.job == "briefing-margins-2026-12-07T2200Z"
    # The date is the reader's, not that of UTC.
    assert "as of 2026-12-08" in by_schedule.question
    assert "since the beginning" in by_schedule.question
    filing = NewFiling(accession="0001-26-1", form="10-K", company="Nvidia", filed="2026-12-07")
    for_filing = request.model_copy(update={"filing": filing})
    found = issue_of(bench.journal, for_filing, moment)
    assert found.job == "briefing-margins-0001-26-1"
    assert "margins of Nvidia develop" in found.question
    assert "It is about the filing 0001-26-1, a 10-K of Nvidia" in found.question
    by_hand = issue_of(bench.journal, request_by_hand(good(tmp_path)), moment, by_hand=True)
    assert by_hand.job == "briefing-margins-2026-12-07"
    assert "margins of NVDA and MRVL develop" in by_hand.question
    bench.journal.database.close()
