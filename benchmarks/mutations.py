"""The check of reports: 20 right reports over real filings, and 200 seeded mutations of them.

    python -m benchmarks.mutations [--seed N] [--show]

A report is written from rows of the filings' statements: plain sentences, changes, computed
percentages, tables, bound and derived figures. A mutation alters one thing. What must hold:
at least 98 % of the mutations marked or refused; at most 1 % of the unmutated figures marked.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from tests.tools.made import SHARED

from benchmarks.steps import row
from deskwork.tasks.claims import Checked, check
from deskwork.tasks.ledger import Ledger
from deskwork.tools.collection import Collection
from deskwork.tools.documents import Table
from deskwork.tools.errors import ToolError
from deskwork.tools.figures import Figure, Said, bind
from deskwork.tools.formulas import Wanted, derive
from deskwork.tools.library import Library
from deskwork.tools.printed import Printed, printed_in
from deskwork.tools.statements import traits
from deskwork.tools.tool import Evidence

REPORTS = 20
NAMES = {
    "3M": "3M",
    "ACTIVISION": "Activision Blizzard",
    "ADOBE": "Adobe",
    "AMAZON": "Amazon",
    "AMCOR": "Amcor",
    "BESTBUY": "Best Buy",
    "BOEING": "Boeing",
    "COSTCO": "Costco",
    "MICROSOFT": "Microsoft",
    "PEPSICO": "PepsiCo",
    "ULTABEAUTY": "Ulta Beauty",
    "WALMART": "Walmart",
}
SCALES = {3: "thousand", 6: "million", 9: "billion"}


@dataclass
class Line:
    """A row of a statement with two years, and what cites it."""

    file: str
    company: str
    evidence: Evidence
    new: Printed
    old: Printed

    @property
    def label(self) -> str:
        """The row's label as a sentence takes it."""
        return re.sub(r"\W+$", "", self.new.label)


@dataclass
class Written:
    """A report: its sentences, what it cites, and its figures."""

    lines: list[Line]
    sentences: list[str]
    evidence: dict[str, Evidence]
    figures: dict[str, Figure] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The report's Markdown."""
        return "# A report\n\n" + "\n\n".join(self.sentences)


def money(printed: Printed, *, scale: int | None = None) -> str:
    """A value as an analyst writes it: -$1,577 million."""
    power = len(str(int(printed.scale))) - 1 if scale is None else scale
    value = printed.numeral.readings[0]
    sign = "-" if printed.numeral.negative else ""
    return f"{sign}${value:,} {SCALES[power]}"


def when(printed: Printed) -> str:
    """The period as an analyst writes it."""
    length = {3: "the quarter of ", 6: "the six months of ", 9: "the nine months of "}
    return f"{length.get(printed.months, '')}{printed.years[0]}"


def lines_of(collection: Collection, rng: random.Random) -> dict[str, list[Line]]:
    """Rows of the primary statements that have values of two known years, by file."""
    found: dict[str, list[Line]] = {}
    for entry in collection.files:
        company = next(name for key, name in NAMES.items() if entry.name.startswith(key))
        for number in range(1, entry.pages + 1):
            page = collection.page(entry.name, number).text
            judged = traits(page)
            if max(judged.income, judged.balance, judged.cash) < 0.6:
                continue
            tables = collection.tables(entry.name, number)
            at = 0
            for text in page.split("\n"):
                start, at = at, at + len(text) + 1
                line = _line(collection, entry.name, company, number, text.strip(), start, page,
                             tables)  # fmt: skip
                if line:
                    found.setdefault(entry.name, []).append(line)
    for lines in found.values():
        rng.shuffle(lines)
    return {name: lines for name, lines in found.items() if len(lines) >= 8}


def _line(
    collection: Collection, file: str, company: str, number: int, text: str, start: int,
    page: str, tables: Sequence[Table],
) -> Line | None:  # fmt: skip
    values = [p for p in printed_in(text, page, start, tables) if not p.numeral.percent]
    dated = [p for p in values if p.years and p.scale in (1000, 10**6) and p.label
             and " " not in p.numeral.text]  # fmt: skip
    if len(dated) < 2 or len(dated) != len(values) or len(text) < 14 or len(dated[0].label) < 8:
        return None
    new, old = dated[0], dated[1]
    if new.months != old.months or re.search(r"(?i)^(?:january|july) \d", new.label):
        return None  # a heading of dates is no row
    if not 0 < new.years[0] - old.years[0] <= 2 or min(abs(new.value), abs(old.value)) < 10**7:
        return None
    try:
        evidence = collection.find_quote(file, number, text)
        # Only a row that stands in one place can be cited with a wrong page.
        return Line(file, company, evidence, new, old) if page.count(text) == 1 else None
    except ToolError:
        return None


def plain(line: Line) -> str:
    return (
        f"{line.company}'s {line.label.lower()} was {money(line.new)} in {when(line.new)} "
        f"[{line.evidence.id}]."
    )


def change(line: Line) -> str:
    return (
        f"In {when(line.new)}, {line.label.lower()} of {line.company} came to "
        f"{money(line.new)}, against {money(line.old)} in {when(line.old)} "
        f"[{line.evidence.id}]."
    )


def percent_of(line: Line) -> Decimal:
    difference = line.new.value - line.old.value
    return round(difference / abs(line.old.value) * 100, 1)


def computed(line: Line) -> str:
    percent = percent_of(line)
    both_out = line.new.value < 0 and line.old.value < 0
    grew = (percent > 0) is not both_out
    return (
        f"{line.company}'s {line.label.lower()} {'rose' if grew else 'fell'} {abs(percent)}% in "
        f"{when(line.new)} [{line.evidence.id}]."
    )


def table(lines: list[Line]) -> str:
    first = lines[0]
    power = len(str(int(first.new.scale))) - 1
    head = f"| $ in {SCALES[power]}s | {when(first.new)} | {when(first.old)} |\n|---|---|---|"
    rows = [
        f"| {line.label} | {_cell(line.new)} | {_cell(line.old)} [{line.evidence.id}] |"
        for line in lines
    ]
    return "\n".join([head, *rows])


def _cell(printed: Printed) -> str:
    text = f"{printed.numeral.readings[0]:,}"
    return f"({text})" if printed.numeral.negative else text


def bound(line: Line, printed: Printed, collection: Collection) -> Figure:
    page = collection.page(line.file, line.evidence.page).text
    tables = collection.tables(line.file, line.evidence.page)
    sources = printed_in(line.evidence.quote, page, line.evidence.start, tables)
    value = f"({printed.numeral.text})" if printed.numeral.negative else printed.numeral.text
    said = Said(f"{line.company}, {line.label}", value, str(printed.years[0]))
    return bind(said, line.evidence.id, sources, line.evidence.quote, page)


def written(name: str, lines: list[Line], collection: Collection) -> Written:
    """A right report over a filing's rows."""
    changing = [
        n for n in lines if n.new.value * n.old.value > 0 and 0.1 < abs(percent_of(n)) < 400
    ]
    report = Written(lines, [], {line.evidence.id: line.evidence for line in lines})
    report.sentences += [plain(line) for line in lines[:3]]
    report.sentences += [change(line) for line in lines[3:5]]
    report.sentences += [computed(line) for line in changing[:2]]
    same = [
        n
        for n in lines
        if (n.new.years, n.new.scale, n.new.months)
        == (lines[5].new.years, lines[5].new.scale, lines[5].new.months)
    ]
    report.sentences.append(table(same[:3]))
    new, old = bound(lines[6], lines[6].new, collection), bound(lines[6], lines[6].old, collection)
    growth = derive(
        f"({new.id} - {old.id}) / {old.id}", {new.id: new, old.id: old}.get,
        Wanted(label="growth", unit="%"),
    )  # fmt: skip
    report.figures = {figure.id: figure for figure in (new, old, growth)}
    report.sentences.append(
        f"{lines[6].company}'s {lines[6].label.lower()} was {{{new.id}}} in "
        f"{when(lines[6].new)}, a change of {{{growth.id}}}."
    )
    return report


def checked(report: Written, collection: Collection) -> Checked:
    return check(report.text, Ledger(collection, report.evidence, report.figures))


Mutation = Callable[[Written, Collection, random.Random], bool | None]
"""Alters a report's sentences, or tries what a tool must refuse: whether it was refused, or None
for a text to be checked."""


def wrong_quote(report: Written, collection: Collection, rng: random.Random) -> bool:
    line = rng.choice(report.lines)
    digits = [m.start() for m in re.finditer(r"\d", line.evidence.quote)]
    at = rng.choice(digits)
    other = str((int(line.evidence.quote[at]) + rng.randint(1, 9)) % 10)
    quote = line.evidence.quote[:at] + other + line.evidence.quote[at + 1 :]
    return _refused(lambda: collection.find_quote(line.file, line.evidence.page, quote))


def wrong_page(report: Written, collection: Collection, rng: random.Random) -> bool:
    line = rng.choice(report.lines)
    pages = collection.file(line.file).pages
    page = rng.choice([p for p in range(1, pages + 1) if p != line.evidence.page])
    if line.evidence.quote in collection.page(line.file, page).text:
        return True  # it stands there as well
    return _refused(lambda: collection.find_quote(line.file, page, line.evidence.quote))


def _refused(call: Callable[[], object]) -> bool:
    try:
        call()
    except ToolError:
        return True
    return False


def _replace(report: Written, rng: random.Random, edit: Callable[[str], str]) -> None:
    """Edit a sentence where the edit changes something."""
    places = list(range(len(report.sentences)))
    rng.shuffle(places)
    for place in places:
        new = edit(report.sentences[place])
        if new != report.sentences[place]:
            report.sentences[place] = new
            return
    raise RuntimeError("nothing to alter")


def off_by_1000(report: Written, collection: Collection, rng: random.Random) -> None:
    swap = {"million": "billion", "thousand": "million", "billion": "million"}
    _replace(
        report, rng,
        lambda s: re.sub(r"\b(million|thousand|billion)", lambda m: swap[m[0]], s, count=1),
    )  # fmt: skip


def lost_sign(report: Written, collection: Collection, rng: random.Random) -> None:
    for line in report.lines:
        if line.new.value < 0 and not _says_out(line.label):
            report.sentences.append(plain(line).replace("-$", "$"))
            return
    _replace(report, rng, lambda s: s.replace("was $", "was -$", 1) if "was $" in s else s)


def _says_out(label: str) -> bool:
    """Rows whose positive size is what people write: purchases, payments, losses."""
    return bool(re.search(r"(?i)purchase|pay|repurchase|dividend|acqui|invest|loss|expense|cost|tax"
                          r"|treasury|used|issu|addition|less\b|contrib|decrease|repay|capital exp"
                          r"|retire|settle",
                          label))  # fmt: skip


def another_year(report: Written, collection: Collection, rng: random.Random) -> None:
    def edit(sentence: str) -> str:
        if sentence.startswith("|") or "against" in sentence:
            return sentence
        return re.sub(
            r"(in |of )((?:19|20)\d\d)", lambda m: f"{m[1]}{int(m[2]) - 2}", sentence, count=1
        )

    _replace(report, rng, edit)


def another_company(report: Written, collection: Collection, rng: random.Random) -> None:
    own = report.lines[0].company
    other = rng.choice([name for name in NAMES.values() if name != own])
    _replace(report, rng, lambda s: s.replace(own, other))


def no_source(report: Written, collection: Collection, rng: random.Random) -> None:
    number = f"{rng.randint(11, 99)}.{rng.randint(1, 9)}"
    report.sentences.insert(
        rng.randrange(len(report.sentences)),
        rng.choice(
            [
                f"Its order backlog reached ${number} billion at the end of the year.",
                f"Analysts expect growth of {number}% next year.",
                f"It employs about {rng.randint(12, 240)},000 people.",
            ]
        ),
    )


def wrong_digits(report: Written, collection: Collection, rng: random.Random) -> None:
    def edit(sentence: str) -> str:
        found = list(re.finditer(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{3,}(?= million)", sentence))
        if not found:
            return sentence
        one = rng.choice(found)
        number = Decimal(one[0].replace(",", ""))
        changed = number + rng.choice([-1, 1]) * max(1, int(number * Decimal("0.03")))
        return sentence[: one.start()] + f"{changed:,}" + sentence[one.end() :]

    _replace(report, rng, edit)


def wrong_computation(report: Written, collection: Collection, rng: random.Random) -> None:
    def edit(sentence: str) -> str:
        def other(match: re.Match[str]) -> str:
            value = Decimal(match[1]) + rng.choice([1, -1]) * Decimal(rng.randint(5, 90)) / 10
            return f"{abs(value) if abs(value) != Decimal(match[1]) else value + 1}%"

        return re.sub(r"(\d+\.\d)%", other, sentence, count=1)

    _replace(report, rng, edit)


def wrong_citation(report: Written, collection: Collection, rng: random.Random) -> None:
    names = list(report.evidence)

    def edit(sentence: str) -> str:
        if sentence.startswith("|"):
            return sentence
        found = re.search(r"\[(E[0-9a-f]{8})\]", sentence)
        if not found:
            return sentence
        other = rng.choice([name for name in names if name != found[1]])
        return sentence.replace(found[1], other)

    _replace(report, rng, edit)


MUTATIONS: list[Mutation] = [
    wrong_quote, wrong_page, off_by_1000, lost_sign, another_year, another_company, no_source,
    wrong_digits, wrong_computation, wrong_citation,
]  # fmt: skip


def _said_as_year(line: Line, collection: Collection) -> bool:
    """Whether a quarter's or a half's value is marked in a sentence about the year."""
    year = str(line.new.years[0])
    report = Written([line], [plain(line).replace(when(line.new), year)],
                     {line.evidence.id: line.evidence})  # fmt: skip
    return bool(checked(report, collection).problems)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--show", action="store_true", help="Print what went wrong.")
    asked = parser.parse_args()
    folder = SHARED / "financebench" / "pdfs"
    if not folder.is_dir():
        sys.exit(f"The filings are not at {folder}; set DESKWORK_SHARED.")
    rng = random.Random(asked.seed)
    with tempfile.TemporaryDirectory() as home:
        collection = Library(Path(home)).collect([folder])
        rows = lines_of(collection, rng)
        names = sorted(rows)
        marked = stated = 0
        caught: Counter[str] = Counter()
        for number in range(REPORTS):
            name = names[number % len(names)]
            # A file's second report is written from other rows.
            lines = rows[name][8:16] if number >= len(names) else rows[name][:8]
            lines = lines if len(lines) == 8 else rows[name][:8]
            right = checked(written(name, lines, collection), collection)
            stated += sum(len(claim.figures) or 1 for claim in right.claims)
            marked += len(right.problems)
            if asked.show:
                print(*right.problems, sep="\n")
            for mutation in MUTATIONS:
                report = written(name, lines, collection)
                refused = mutation(report, collection, rng)
                found = checked(report, collection) if refused is None else None
                new = set(found.problems) - set(right.problems) if found else None
                good = bool(refused) if new is None else bool(new)
                caught[mutation.__name__] += good
                if not good and asked.show:
                    print(f"missed: {mutation.__name__}", *report.sentences, sep="\n   ")
        short = [line for lines in rows.values() for line in lines if 0 < line.new.months < 12]
        told = sum(_said_as_year(line, collection) for line in short)
    total = sum(caught.values())
    for mutation in MUTATIONS:
        print(f"  {mutation.__name__}: {caught[mutation.__name__]} of {REPORTS}")
    many = REPORTS * len(MUTATIONS)
    share = 100 * told / len(short)
    row(f"{len(short)} parts of a year said to be the year, percent", share, "at least 98")
    row(f"mutations of {many} marked or refused, percent", 100 * total / many, "at least 98")
    row(f"of {stated} right figures marked, percent", 100 * marked / stated, "at most 1")


if __name__ == "__main__":
    main()
