"""The report as Markdown, with numbered citations, its appendix and its list of sources."""

from __future__ import annotations

import re

from deskwork.tasks.claims import CITATION
from deskwork.tasks.publishing.numbering import (
    EVIDENCE_ID,
    about,
    cited,
    notes_of,
    one_line,
    place,
    printed_text,
)
from deskwork.tasks.report import Report


def markdown_of(report: Report, numbers: dict[str, int]) -> str:
    """The whole report."""

    def cite(match: re.Match[str]) -> str:
        names = EVIDENCE_ID.findall(match.group(1))
        return "".join(f"[{numbers[name]}]" if name in numbers else "[?]" for name in names)

    parts = [CITATION.sub(cite, printed_text(report)).strip()]
    if notes := notes_of(report):
        parts.append("## Checked, and not in order\n\n" + "\n".join(f"- {n}" for n in notes))
    if report.conflicts:
        rows = "\n".join(f"- {c.label}, {c.period_end}: {c.shown}" for c in report.conflicts)
        parts.append(f"## Sources that disagree\n\n{rows}")
    if derived := [figure for figure in report.figures if figure.formula]:
        rows = "\n".join(
            f"- {figure.named}: {figure.printed()} = {figure.formula}" for figure in derived
        )
        parts.append(f"## Computed figures\n\n{rows}")
    if corrected := [f for f in report.figures if f.status == "corrected"]:
        rows = "\n".join(
            f"- {f.label}, {f.period_end}: {f.printed()}, {f.vintage}" for f in corrected
        )
        parts.append(f"## Corrected by a reviewer\n\n{rows}")
    if numbers:
        rows = "\n".join(
            f'{numbers[item.id]}. {item.file}, {place(item)}: "{one_line(item.quote)}"'
            + (f" (<{item.url}>, retrieved {item.retrieved})" if item.url else "")
            for item in cited(report, numbers)
        )
        parts.append(f"## Sources\n\n{rows}")
    parts.append("\n".join(f"> {line}" for line in about(report)))
    return "\n\n".join(parts) + "\n"
