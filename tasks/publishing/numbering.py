"""The printed numbers of a report's sources, and what every form says of the report itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from deskwork.tasks.changes import Changes, in_words
from deskwork.tasks.claim_bound import FIGURE
from deskwork.tasks.claims import CHART, CITATION, Claim
from deskwork.tasks.linking import linked, target
from deskwork.tasks.printing import marked, print_figures
from deskwork.tasks.publishing.blocks import cites_of
from deskwork.tasks.report import Report
from deskwork.tools.figures import Figure
from deskwork.tools.tool import Evidence

CHECKED = "Checked, and not in order"
"""The heading of what the check marked."""


def numbered(report: Report) -> dict[str, int]:
    """The printed number of each evidence: those cited, then those that figures rest on."""
    known = {item.id for item in report.evidence}
    numbers: dict[str, int] = {}
    cited = cites_of(printed_text(report))
    behind = [name for figure in report.figures for name in figure.evidence]
    for name in (*cited, *behind):
        if name in known:
            numbers.setdefault(name, len(numbers) + 1)
    return numbers


def put_charts(text: str, report: Report) -> str:
    """The text with each chart as a picture, and its sources below it."""
    known = {chart.id: chart for chart in report.charts}

    def put(match: re.Match[str]) -> str:
        chart = known.get(match[1])
        if chart is None:
            return match[0]
        title = re.sub(r"[\[\]]", "", chart.title)
        return f"\n\n![{title}]({chart_file(chart.id)})\n\n"

    return CHART.sub(put, text)


def chart_file(name: str) -> str:
    """A chart's file beside the report."""
    return f"charts/{name}.png"


def figures_of(report: Report) -> dict[str, Figure]:
    """The figures by their ids."""
    return {figure.id: figure for figure in report.figures}


def printed_text(report: Report) -> str:
    """The text with its figures, and marks on what doesn't stand."""
    text = print_figures(marked(report.text, report.claims), figures_of(report))
    return with_changes(put_charts(text, report), report)


def linked_text(report: Report) -> str:
    """The same with a link on each figure and quotation (`linking`)."""
    figures = figures_of(report)
    text = linked(report.text, report.claims, figures)
    text = _marked(text, report)
    text = print_figures(text, figures, lambda figure, shown: f"[{shown}](#{target(figure)})")
    return with_changes(put_charts(text, report), report)


def with_changes(text: str, report: Report) -> str:
    """The text with what has changed since the last report, behind its title."""
    if report.changes is None:
        return text
    told = in_words(Changes.from_json(report.changes))
    title, _, rest = text.lstrip().partition("\n")
    if not title.startswith("# "):
        title, rest = "", text
    return "\n\n".join(part for part in (title, told, rest.strip()) if part)


def _marked(text: str, report: Report) -> str:
    """Marks behind sentences that links were put into: they are found by their linked form."""
    figures = figures_of(report)
    forms: dict[str, str] = {}
    for claim in report.claims:
        if claim.text not in forms:
            forms[claim.text] = linked(claim.text, [claim], figures)
    return marked(text, [replace(claim, text=forms[claim.text]) for claim in report.claims])


def cited(report: Report, numbers: dict[str, int]) -> list[Evidence]:
    """The evidence in the order of its numbers."""
    known = {item.id: item for item in report.evidence}
    return [known[name] for name in numbers]


def place(item: Evidence) -> str:
    """Where a quote stands, in words: the page, the cells of a workbook, the filing."""
    parts = [f"page {item.page}"]
    parts += [item.cell] if item.cell else []
    parts += [f"accession {item.accession}"] if item.accession else []
    parts += ["read from its picture"] if item.region else []
    return ", ".join(parts)


def title_of(report: Report) -> str:
    """The report's own title, else its question."""
    return next((s.heading for s in report.sections if s.level == 1), report.question)


def rejected(report: Report) -> list[Claim]:
    """The claims that the check marked."""
    return [claim for claim in report.claims if claim.status == "unsupported"]


def checked_line(report: Report) -> str:
    """How many claims the check marked, for the top of every form; "" for none."""
    count = len(rejected(report))
    return f"The check marked {count} claim{'' if count == 1 else 's'}" if count else ""


def notes_of(report: Report) -> list[str]:
    """What the check found and what could not be had."""
    wrong = [f"“{in_print(c.text, report)}”: {in_print(c.problem, report)}"
             for c in rejected(report)]  # fmt: skip
    return [*report.notes, *dict.fromkeys(wrong)]


def in_print(text: str, report: Report) -> str:
    """A sentence as a reader sees it: figures printed, citations and list mark left out."""
    shown = re.sub(rf"\s*{CITATION.pattern}", "", print_figures(text, figures_of(report)))
    shown = re.sub(r"^\s*(?:[-*+]|\d+[.)])\s+", "", shown)
    if shown.startswith("|"):  # a row of a table
        shown = "; ".join(cell.strip() for cell in shown.split("|") if cell.strip())
    return FIGURE.sub("an unknown figure", shown).strip()


def _in_quotes(text: str, report: Report) -> str:
    shown = in_print(text, report)
    return shown if shown.startswith("“") else f"“{shown}”"


def corrected_of(report: Report) -> list[str]:
    """What a person corrected, a line for each figure and each sentence."""
    figures = [
        f"{f.named}: {f.printed()}, {f.vintage}" for f in report.figures if f.status == "corrected"
    ]
    claims = [
        _in_quotes(c.text, report) + (f": {c.problem}" if c.problem else "")
        for c in report.claims
        if c.status == "corrected"
    ]
    return [*dict.fromkeys(figures), *dict.fromkeys(claims)]


def computed_of(report: Report) -> list[str]:
    """The computed figures with their formulas, in printed numbers."""
    known = figures_of(report)
    lines = [
        f"{f.named}: {f.printed()} = {in_numbers(f.formula, known)}"
        + (f" ({f.vintage})" if f.vintage else "")
        for f in report.figures
        if f.formula
    ]
    return list(dict.fromkeys(lines))


def in_numbers(formula: str, known: Mapping[str, Figure]) -> str:
    """A formula with printed numbers in the place of figures' ids."""

    def put(match: re.Match[str]) -> str:
        figure = known.get(match[0])
        if figure is None:
            return "an unknown figure"
        shown = figure.printed()
        return f"({shown})" if shown.startswith("-") else shown

    return re.sub(r"F[0-9a-f]{8}", put, formula)


def appendix_of(report: Report) -> list[tuple[str, list[str]]]:
    """(title, lines) of what follows the text; sections without a line are left out."""
    sections = [
        (CHECKED, notes_of(report)),
        (
            "Sources that disagree",
            [f"{c.label}, {c.period_end}: {c.shown}" for c in report.conflicts],
        ),
        ("Computed figures", computed_of(report)),
        ("Corrected by a reviewer", corrected_of(report)),
    ]
    documents = [
        f"{row['file']} ({row['kind']}, {row['pages']} pages), SHA-256 {row['sha256'][:16]}…"
        + (f", {row['url']}, retrieved {row['retrieved']}" if row.get("url") else "")
        for row in report.sources
    ]
    sections.append(("Documents", documents))
    return [(title, lines) for title, lines in sections if lines]


def source_line(item: Evidence) -> str:
    """A source as a footnote says it."""
    where = f", {item.url}, retrieved {item.retrieved}" if item.url else ""
    return f"{item.file}, {place(item)}{where}: “{one_line(item.quote)}” ({item.id})"


def about(report: Report) -> list[str]:
    """What made the report, when, for how much, and whether a person has reviewed it."""
    used = report.usage
    parts = [f"{used.get('calls', 0)} model calls"]
    if used.get("input") or used.get("output"):
        parts.append(f"{used.get('input', 0):,} tokens in, {used.get('output', 0):,} out")
    if used.get("cost") is not None:
        parts.append(f"cost {used['cost']:.4f}")
    when = f" As of {report.as_of}." if report.as_of else ""
    return [
        f"Job {report.job}, state: {report.state}.{when} {report.review_line}",
        f"{used.get('by', 'Model unknown')}; {', '.join(parts)}.",
    ]


def one_line(text: str) -> str:
    """A quote on one line."""
    return " ".join(text.split())
