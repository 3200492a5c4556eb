"""The report as DOCX: native headings, lists, tables, footnotes and pictures.

python-docx writes no footnotes, so their part is made here (ECMA-376 part 1, 17.11): one footnote
for each source, where it is cited first; later citations refer to its number.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape

from deskwork.tasks.publishing.blocks import Block, Cell, Run, blocks_of
from deskwork.tasks.publishing.lists import Lists, indent_of
from deskwork.tasks.publishing.numbering import (
    CHECKED,
    about,
    appendix_of,
    chart_file,
    checked_line,
    cited,
    printed_text,
    source_line,
    title_of,
)
from deskwork.tasks.publishing.pictures import Pictures
from deskwork.tasks.report import Report
from deskwork.tools.tool import Evidence

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"
_LINK = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/hyperlink"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_BOOKMARK = "checked"
_PICTURES = 30
"""Pictures of pages in the appendix, at most: a document of a hundred pages helps nobody."""


def docx_of(report: Report, numbers: dict[str, int], pictures: Pictures) -> bytes:
    """The document's bytes."""
    import docx

    writer = _Writer(docx.Document(), report, numbers)
    writer.properties(title_of(report), report.job)
    writer.line(report.review_line, "Intense Quote")
    writer.checked()
    for block in blocks_of(printed_text(report)):
        writer.block(block)
    writer.appendix(pictures)
    writer.finish()
    out = io.BytesIO()
    writer.document.save(out)
    return out.getvalue()


class _Writer:
    def __init__(self, document: Any, report: Report, numbers: dict[str, int]) -> None:
        self.document = document
        self._report = report
        self._numbers = numbers
        self._evidence = {item.id: item for item in report.evidence}
        self._notes: list[Evidence] = []
        self._lists = Lists(document)

    def properties(self, title: str, job: str) -> None:
        self.document.core_properties.title = title
        self.document.core_properties.author = "Deskwork"
        self.document.core_properties.comments = f"Job {job}"

    def line(self, text: str, style: str | None = None) -> Any:
        return self.document.add_paragraph(_clean(text), style=style)

    def block(self, block: Block) -> None:
        if block.kind == "chart":
            self._chart(block.runs[0].text)
        elif block.kind == "table":
            self._table(block.rows)
        else:
            self._runs(self._paragraph(block), block.runs)

    def _paragraph(self, block: Block) -> Any:
        if block.kind == "heading":
            return self.document.add_heading(level=min(block.level, 9))
        if block.kind == "item":
            paragraph = self.document.add_paragraph(style="List Paragraph")
            self._lists.put(paragraph, block)
            return paragraph
        paragraph = self.document.add_paragraph(style="Quote" if block.kind == "quote" else None)
        if block.kind == "more":
            paragraph.paragraph_format.left_indent = indent_of(block.level)
        return paragraph

    def _runs(self, paragraph: Any, runs: Sequence[Run]) -> None:
        for run in runs:
            made = self._run(paragraph, run)
            made.bold, made.italic = run.bold or None, run.italic or None
            made.font.strike = run.struck or None
            made.font.superscript = run.raised or None
            if run.code:
                made.font.name = "Consolas"
            for name in run.cites:
                self._cite(paragraph, name)

    def _run(self, paragraph: Any, run: Run) -> Any:
        made = paragraph.add_run(_clean(run.text))
        if run.href:
            made.font.underline = True
            link = self.document.part.relate_to(run.href, _LINK, is_external=True)
            _wrap(made, f'r:id="{link}"')
        return made

    def checked(self) -> None:
        """How many claims the check marked, with a link to their list."""
        if marked := checked_line(self._report):
            paragraph = self.line("", "Intense Quote")
            made = paragraph.add_run(f"{marked}: {CHECKED}.")
            made.font.underline = True
            _wrap(made, f'w:anchor="{_BOOKMARK}"')

    def _cite(self, paragraph: Any, name: str) -> None:
        from docx.oxml import parse_xml

        item = self._evidence.get(name)
        if item is None or name not in self._numbers:
            paragraph.add_run("[?]")
            return
        if item in self._notes:
            _raise(paragraph, f"[{self._notes.index(item) + 1}]")
            return
        self._notes.append(item)
        _raise(paragraph, "[")
        paragraph._p.append(
            parse_xml(
                f'<w:r xmlns:w="{_W}"><w:rPr><w:vertAlign w:val="superscript"/></w:rPr>'
                f'<w:footnoteReference w:id="{len(self._notes)}"/></w:r>'
            )
        )
        _raise(paragraph, "]")

    def _chart(self, file: str) -> None:
        from docx.shared import Cm

        for chart in self._report.charts:
            if chart_file(chart.id) == file:
                self.document.add_picture(io.BytesIO(chart.png), width=Cm(15))

    def _table(self, rows: Sequence[Sequence[Cell]]) -> None:
        from docx.enum.text import WD_ALIGN_PARAGRAPH

        width = max((len(row) for row in rows), default=0)
        if not width:
            return
        table = self.document.add_table(rows=0, cols=width, style="Light Grid Accent 1")
        for row in rows:
            for place, cell in zip(table.add_row().cells, row, strict=False):
                paragraph = place.paragraphs[0]
                if cell.right:
                    paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
                self._runs(paragraph, cell.runs)
        self.document.add_paragraph()

    def appendix(self, pictures: Pictures) -> None:
        report = self._report
        for title, lines in appendix_of(report):
            heading = self.document.add_heading(title, level=2)
            if title == CHECKED:
                _bookmark(heading)
            for line in lines:
                self.line(line, "List Bullet")
        self._pages(pictures)
        for line in about(report):
            self.line(line, "Caption")
        for name, value in report.settings.items():
            self.line(f"{name}: {value}", "Caption")

    def _pages(self, pictures: Pictures) -> None:
        """The appendix of evidence: each quote with its page's picture."""
        from docx.shared import Cm

        if not self._numbers:
            return
        self.document.add_heading("Evidence", level=2)
        shown = 0
        for item in cited(self._report, self._numbers):
            self.line(f"{self._numbers[item.id]}. {source_line(item)}")
            picture = pictures.of(item) if shown < _PICTURES else None
            if picture:
                shown += 1
                self.document.add_picture(io.BytesIO(picture), width=Cm(12))

    def finish(self) -> None:
        """Add the part with the footnotes."""
        from docx.opc.packuri import PackURI
        from docx.opc.part import Part

        notes = [_separator(-1, "separator"), _separator(0, "continuationSeparator")]
        for number, item in enumerate(self._notes, 1):
            notes.append(
                f'<w:footnote w:id="{number}"><w:p><w:pPr><w:pStyle w:val="FootnoteText"/></w:pPr>'
                '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:footnoteRef/></w:r>'
                f'<w:r><w:t xml:space="preserve"> {escape(_clean(source_line(item)))}</w:t></w:r>'
                "</w:p></w:footnote>"
            )
        xml = (
            '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
            f'<w:footnotes xmlns:w="{_W}">{"".join(notes)}</w:footnotes>'
        )
        package = self.document.part.package
        part = Part(PackURI("/word/footnotes.xml"), _TYPE, xml.encode(), package)
        self.document.part.relate_to(part, _RELATION)


def _raise(paragraph: Any, text: str) -> None:
    """Brackets and all: a raised 1 behind 7,813 would be read as a digit of it."""
    paragraph.add_run(text).font.superscript = True


def _wrap(run: Any, where: str) -> None:
    """Make a run a link."""
    from docx.oxml import parse_xml

    link = parse_xml(f'<w:hyperlink xmlns:w="{_W}" xmlns:r="{_R}" {where}/>')
    run._r.addprevious(link)
    link.append(run._r)


def _bookmark(paragraph: Any) -> None:
    from docx.oxml import parse_xml

    begin = f'<w:bookmarkStart xmlns:w="{_W}" w:id="1" w:name="{_BOOKMARK}"/>'
    paragraph._p.append(parse_xml(begin))
    paragraph._p.append(parse_xml(f'<w:bookmarkEnd xmlns:w="{_W}" w:id="1"/>'))


def _separator(number: int, kind: str) -> str:
    return (
        f'<w:footnote w:type="{kind}" w:id="{number}"><w:p><w:r><w:{kind}/></w:r></w:p>'
        "</w:footnote>"
    )


def _clean(text: str) -> str:
    """What XML can hold: control characters are left out."""
    return "".join(letter for letter in text if letter in "\t\n" or ord(letter) >= 32)
