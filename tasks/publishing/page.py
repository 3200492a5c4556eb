"""The report as one page that needs nothing else: a click on a figure or a quote shows its source.

There is no script in it. What is clicked leads to a section of the page, which then lies over the
text as a panel, with the quote, the page's picture and the passage around it.
"""

from __future__ import annotations

import base64
import html
import re
from functools import cache

import jinja2
from markupsafe import Markup

from deskwork.tasks.claims import CITATION
from deskwork.tasks.printing import MARK
from deskwork.tasks.publishing.dialect import EVIDENCE_ID, rendered
from deskwork.tasks.publishing.numbering import (
    CHECKED,
    about,
    chart_file,
    checked_line,
    cited,
    corrected_of,
    linked_text,
    notes_of,
    place,
    title_of,
)
from deskwork.tasks.publishing.pictures import Pictures
from deskwork.tasks.report import Report
from deskwork.tools.collection import Collection
from deskwork.tools.errors import ToolError
from deskwork.tools.tool import Evidence

_AROUND = 600  # characters of the page shown before and behind a quote
_MARKED = re.compile(r"<strong>\[not supported\]</strong>")
assert MARK == "**[not supported]**"  # what `_MARKED` finds once it is rendered


def page_of(
    report: Report, numbers: dict[str, int], collection: Collection, pictures: Pictures
) -> str:
    """The page as HTML."""
    body = rendered(linked_text(report))

    def cite(match: re.Match[str]) -> str:
        links = []
        for name in EVIDENCE_ID.findall(match.group(1)):
            if name in numbers:
                links.append(f'<a class="cite" href="#{name}">{numbers[name]}</a>')
            else:
                links.append('<span class="bad" title="no such evidence">?</span>')
        return "".join(links)

    body = re.sub(rf"\s*{CITATION.pattern}", cite, body)
    body = re.sub(r'<a href="#([EF][0-9a-f]{8})">', r'<a class="figure" href="#\1">', body)
    for chart in report.charts:
        body = body.replace(f'src="{chart_file(chart.id)}"', f'src="{_png_url(chart.png)}"')
    # Nothing is fetched by the page: other pictures are told by their words.
    body = re.sub(r'<img src="(?!data:)[^"]*" alt="([^"]*)"[^>]*>', r"[\1]", body)
    body = re.sub(r"<strong>Note ([a-z]+)\.</strong>", r'<strong id="note-\1">\1.</strong>', body)
    body = _MARKED.sub('<span class="bad">not supported</span>', body)
    bound: dict[str, list[str]] = {}
    for figure in report.figures:
        for name in figure.evidence if not figure.formula else ():
            line = f"{figure.named}: {figure.printed()}"
            bound.setdefault(name, []).append(line)
    return _template().render(
        title=title_of(report),
        report=report,
        body=Markup(body),
        notes=notes_of(report),
        marked=checked_line(report),
        checked=CHECKED,
        corrected=corrected_of(report),
        about=about(report),
        derived=[
            {"figure": f, "formula": Markup(_formula(report, f.formula)), "shown": f.printed()}
            for f in report.figures
            if f.formula
        ],
        sources=[
            {
                "id": item.id,
                "number": numbers[item.id],
                "item": item,
                "place": place(item),
                "passage": Markup(_passage(item, collection)),
                "picture": _data_url(pictures.of(item)),
                "figures": list(dict.fromkeys(bound.get(item.id, []))),
            }
            for item in cited(report, numbers)
        ],
    )


def _formula(report: Report, formula: str) -> str:
    """A formula with its figures as links, each with what it is."""
    known = {figure.id: figure for figure in report.figures}

    def put(match: re.Match[str]) -> str:
        figure = known.get(match[0])
        if figure is None:
            return "an unknown figure"
        name = figure.id if figure.formula or not figure.evidence else figure.evidence[0]
        said = html.escape(figure.named, quote=True)
        return (
            f'<a class="figure" href="#{name}" title="{said}">{html.escape(figure.printed())}</a>'
        )

    return re.sub(r"F[0-9a-f]{8}", put, html.escape(formula))


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


def _png_url(picture: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(picture).decode()}"


def _data_url(picture: bytes | None) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(picture).decode()}" if picture else ""


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("deskwork.tasks.publishing", "."), autoescape=True
    )
    return environment.get_template("report.html")
