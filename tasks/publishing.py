"""Publishing a report: Markdown, one self-contained page, and the report as data.

Each file is written beside its place and moved there, so that a reader never sees half a report
and publishing again changes nothing.
"""

from __future__ import annotations

import html
import json
import os
import re
from functools import cache
from pathlib import Path

import jinja2
from markdown_it import MarkdownIt
from markupsafe import Markup

from deskwork.tasks import faults
from deskwork.tasks.claims import CITATION
from deskwork.tasks.printing import marked, print_figures
from deskwork.tasks.report import Report
from deskwork.tools.collection import Collection
from deskwork.tools.errors import StorageError, ToolError
from deskwork.tools.tool import Evidence

_AROUND = 600  # characters of the page shown before and behind a quote


def publish(report: Report, folder: Path, collection: Collection) -> list[Path]:
    """Write ``report.md``, ``report.html`` and ``report.json``; the paths written.

    Raises `StorageError` when the folder can't be written; the job then loses nothing.
    """
    numbers = numbered(report)
    contents = {
        "report.md": markdown_of(report, numbers),
        "report.html": page_of(report, numbers, collection),
        "report.json": json.dumps(report.as_json(), ensure_ascii=False, indent=1) + "\n",
    }
    paths = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            path = folder / name
            temporary = folder / f".{name}.{os.getpid()}"
            with temporary.open("w", encoding="utf-8") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            faults.point("publishing")
            temporary.replace(path)
            paths.append(path)
    except OSError as error:
        raise StorageError(
            f"The report can't be written to {folder}: {error.strerror or error}.",
            "Mend the folder or its free space, then run the same command again; "
            "only the publishing is repeated.",
        ) from error
    return paths


def numbered(report: Report) -> dict[str, int]:
    """The printed number of each cited evidence, in order of appearance."""
    known = {item.id for item in report.evidence}
    numbers: dict[str, int] = {}
    for group in CITATION.findall(report.text):
        for name in re.findall(r"E[0-9a-f]{8}", group):
            if name in known:
                numbers.setdefault(name, len(numbers) + 1)
    return numbers


def markdown_of(report: Report, numbers: dict[str, int]) -> str:
    """The report with numbered citations and its list of sources."""

    def cite(match: re.Match[str]) -> str:
        names = re.findall(r"E[0-9a-f]{8}", match.group(1))
        return "".join(f"[{numbers[name]}]" if name in numbers else "[?]" for name in names)

    parts = [CITATION.sub(cite, _printed(report)).strip()]
    if notes := _notes(report):
        parts.append("## Checked, and not in order\n\n" + "\n".join(f"- {n}" for n in notes))
    if numbers:
        rows = [
            f'{numbers[item.id]}. {item.file}, page {item.page}: "{_one_line(item.quote)}"'
            + (f" (<{item.url}>, retrieved {item.retrieved})" if item.url else "")
            for item in _cited(report, numbers)
        ]
        parts.append("## Sources\n\n" + "\n".join(rows))
    parts.append("\n".join(f"> {line}" for line in _about(report)))
    return "\n\n".join(parts) + "\n"


def page_of(report: Report, numbers: dict[str, int], collection: Collection) -> str:
    """One page that needs nothing else: a click on a citation opens its passage."""
    renderer = MarkdownIt("commonmark", {"html": False}).enable("table")
    body = renderer.render(_printed(report))

    def cite(match: re.Match[str]) -> str:
        links = []
        for name in re.findall(r"E[0-9a-f]{8}", match.group(1)):
            if name in numbers:
                links.append(f'<a class="cite" href="#{name}">{numbers[name]}</a>')
            else:
                links.append('<span class="bad" title="no such evidence">?</span>')
        return "".join(links)

    sources = [
        {
            "id": item.id,
            "number": numbers[item.id],
            "file": item.file,
            "page": item.page,
            "url": item.url,
            "retrieved": item.retrieved,
            "sha256": item.sha256,
            "quote": item.quote,
            "passage": Markup(_passage(item, collection)),
        }
        for item in _cited(report, numbers)
    ]
    return _template().render(
        title=next((s.heading for s in report.sections if s.level == 1), report.question),
        report=report,
        body=Markup(re.sub(rf"\s*{CITATION.pattern}", cite, body)),
        notes=_notes(report),
        about=_about(report),
        sources=sources,
    )


def _printed(report: Report) -> str:
    """The text with its figures, and marks on what doesn't stand."""
    text = marked(report.text, report.claims)
    return print_figures(text, {figure.id: figure for figure in report.figures})


def _passage(item: Evidence, collection: Collection) -> str:
    """The quote marked within the text of its page, as HTML."""
    try:
        text = collection.page(item.file, item.page).text
    except ToolError:
        text = ""
    end = item.start + len(item.quote)
    if text[item.start : end] != item.quote:
        return f"<mark>{html.escape(item.quote)}</mark>"
    before = text[max(0, item.start - _AROUND) : item.start]
    after = text[end : end + _AROUND]
    return (
        ("… " if item.start > _AROUND else "")
        + f"{html.escape(before)}<mark>{html.escape(item.quote)}</mark>{html.escape(after)}"
        + (" …" if end + _AROUND < len(text) else "")
    )


def _cited(report: Report, numbers: dict[str, int]) -> list[Evidence]:
    known = {item.id: item for item in report.evidence}
    return [known[name] for name in numbers]


def _notes(report: Report) -> list[str]:
    wrong = [f"“{c.text}”: {c.problem}" for c in report.claims if c.status == "unsupported"]
    return [*report.notes, *wrong]


def _about(report: Report) -> list[str]:
    used = report.usage
    parts = [f"{used.get('calls', 0)} model calls"]
    if used.get("input") or used.get("output"):
        parts.append(f"{used.get('input', 0):,} tokens in, {used.get('output', 0):,} out")
    if used.get("cost") is not None:
        parts.append(f"cost {used['cost']:.4f}")
    return [
        f"Job {report.job}, state: {report.state}. Not reviewed by a person.",
        f"{used.get('by', 'Model unknown')}; {', '.join(parts)}.",
    ]


def _one_line(text: str) -> str:
    return " ".join(text.split())


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("deskwork.tasks", "."), autoescape=True
    )
    return environment.get_template("report.html")
