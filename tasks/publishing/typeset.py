"""The report as PDF, set by typst (its compiler is in its wheel; nothing is fetched)."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from deskwork.tasks.publishing.blocks import Block, Cell, Run, blocks_of
from deskwork.tasks.publishing.numbering import (
    CHECKED,
    about,
    appendix_of,
    checked_line,
    cited,
    printed_text,
    source_line,
    title_of,
)
from deskwork.tasks.publishing.pictures import Pictures
from deskwork.tasks.report import Report
from deskwork.tools.errors import StorageError
from deskwork.tools.tool import Evidence

_PICTURES = 30
_DEEPEST = 12
"""Levels of a list that are moved in: deeper ones would leave no room for their words."""
_HEAD = """\
#set document(title: {title}, author: "Deskwork")
#set page(paper: "a4", margin: (x: 24mm, y: 22mm), numbering: "1 / 1", footer-descent: 40%)
#set text(size: 10.5pt, lang: "en")
#set par(justify: false, leading: 0.62em)
#set table(stroke: 0.4pt + luma(190), inset: 5pt)
#show heading: set block(above: 1.3em, below: 0.6em)
#show heading.where(level: 1): set text(size: 17pt)
#show heading.where(level: 2): set text(size: 13pt)
#set footnote(numbering: "[1]")
#show footnote.entry: set text(size: 8pt)
"""
_SPECIAL = re.compile(r"([\\#$*_`<>@\[\]~=+\-/'\"])")


def pdf_of(report: Report, numbers: dict[str, int], pictures: Pictures) -> bytes:
    """The document's bytes. Raises `StorageError` where typst can't set it."""
    import typst

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "report.typ"
        source.write_text(_source_of(report, numbers, pictures, Path(folder)), encoding="utf-8")
        try:
            return bytes(typst.compile(str(source), root=folder))
        except typst.TypstError as error:
            raise StorageError(
                f"report.pdf can't be typeset: {error}.",
                "The other forms of the report stand; tell us of this one.",
            ) from error


def _source_of(report: Report, numbers: dict[str, int], pictures: Pictures, folder: Path) -> str:
    for chart in report.charts:
        (folder / f"{chart.id}.png").write_bytes(chart.png)
    evidence = {item.id: item for item in report.evidence if item.id in numbers}
    parts = [_HEAD.format(title=_string(title_of(report)))]
    parts.append(f'#text(size: 9pt, style: "italic")[{_escaped(report.question)}]')
    parts.append(f'#text(size: 9pt, weight: "bold")[{_escaped(report.review_line)}]')
    if marked := checked_line(report):
        inner = f'#text(size: 9pt, weight: "bold")[{_escaped(marked)}: {_escaped(CHECKED)}.]'
        parts.append(f"#link(<checked>)[{inner}]")
    noted: set[str] = set()
    parts += [_block(block, evidence, noted) for block in blocks_of(printed_text(report))]
    parts += _appendix(report, numbers, pictures, folder)
    return "\n\n".join(parts) + "\n"


def _block(block: Block, evidence: dict[str, Evidence], noted: set[str]) -> str:
    if block.kind == "chart":
        return f"#image({_string(Path(block.runs[0].text).name)})"
    if block.kind == "table":
        return _table(block, evidence, noted)
    text = _runs(block.runs, evidence, noted)
    if block.kind == "heading":
        return f"#heading(level: {block.level})[{text}]"
    left = min(block.level, _DEEPEST)
    if block.kind == "item":
        kind = f"enum(start: {block.number})" if block.ordered else "list"
        return f"#pad(left: {left}em, {kind}[{text}])"
    if block.kind == "more":
        return f"#pad(left: {left + 1}em)[{text}]"
    if block.kind == "quote":
        return f"#quote(block: true)[{text}]"
    if block.kind == "code":
        return f"#raw({_string(block.runs[0].text)}, block: true)"
    return text


def _table(block: Block, evidence: dict[str, Evidence], noted: set[str]) -> str:
    width = max((len(row) for row in block.rows), default=1)
    rows = []
    for number, row in enumerate(block.rows):
        cells = []
        for cell in [*row, *[Cell()] * (width - len(row))]:
            text = _runs(cell.runs, evidence, noted)
            text = f"#strong[{text}]" if number == 0 and text else text
            side = "right" if cell.right else "left"
            cells.append(f"table.cell(align: {side})[{text}]")
        rows.append(f"table.header({', '.join(cells)})" if number == 0 else ", ".join(cells))
    return f"#table(columns: {width}, {', '.join(rows)})"


def _runs(runs: Sequence[Run], evidence: dict[str, Evidence], noted: set[str]) -> str:
    """Runs as markup. Each piece of code ends in a semicolon: a bracket that follows is text."""
    out = []
    for run in runs:
        text = f"#raw({_string(run.text)});" if run.code else _escaped(run.text)
        text = "#linebreak();" if run.text == "\n" else text
        for styled, name in ((run.bold, "strong"), (run.italic, "emph"), (run.struck, "strike"),
                             (run.raised, "super")):  # fmt: skip
            text = f"#{name}[{text}];" if styled and text else text
        out.append(f"#link({_string(run.href)})[{text}];" if run.href and text else text)
        for name in run.cites:
            item = evidence.get(name)
            if item is None:
                out.append("\\[?\\]")
            elif name in noted:
                out.append(f"#footnote(<{name}>);")
            else:
                noted.add(name)
                out.append(f"#footnote[{_escaped(source_line(item))}]<{name}>")
    return "".join(out)


def _appendix(
    report: Report, numbers: dict[str, int], pictures: Pictures, folder: Path
) -> list[str]:
    parts = []
    for title, lines in appendix_of(report):
        label = " <checked>" if title == CHECKED and checked_line(report) else ""
        parts.append(f"#heading(level: 2)[{_escaped(title)}]{label}")
        parts += [f"#list[{_escaped(line)}]" for line in lines]
    shown = 0
    if numbers:
        parts.append("#heading(level: 2)[Evidence]")
    for item in cited(report, numbers):
        parts.append(f"#text(size: 9pt)[{numbers[item.id]}. {_escaped(source_line(item))}]")
        picture = pictures.of(item) if shown < _PICTURES else None
        if picture:
            shown += 1
            (folder / f"{item.id}.jpg").write_bytes(picture)
            parts.append(f'#image("{item.id}.jpg", width: 60%)')
    lines = [*about(report), *(f"{name}: {value}" for name, value in report.settings.items())]
    parts += [f"#text(size: 8pt, fill: luma(90))[{_escaped(line)}]" for line in lines]
    return parts


def _escaped(text: str) -> str:
    """Text with everything escaped that means something to typst."""
    clean = "".join(letter for letter in text if letter in "\t\n" or ord(letter) >= 32)
    return _SPECIAL.sub(r"\\\1", clean)


def _string(text: str) -> str:
    """A string literal of typst."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
