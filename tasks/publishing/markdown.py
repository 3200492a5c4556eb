"""The report as Markdown, with numbered citations, its appendix and its list of sources."""

from __future__ import annotations

import re

from deskwork.tasks.claims import CITATION
from deskwork.tasks.publishing.dialect import EVIDENCE_ID
from deskwork.tasks.publishing.numbering import (
    CHECKED,
    about,
    appendix_of,
    checked_line,
    cited,
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

    parts = [_headed(CITATION.sub(cite, printed_text(report)).strip(), report)]
    for title, lines in appendix_of(report):
        parts.append(f"## {title}\n\n" + "\n".join(f"- {line}" for line in lines))
    if numbers:
        rows = "\n".join(
            f'{numbers[item.id]}. {item.file}, {place(item)}: "{one_line(item.quote)}"'
            + (f" (<{item.url}>, retrieved {item.retrieved})" if item.url else "")
            for item in cited(report, numbers)
        )
        parts.append(f"## Sources\n\n{rows}")
    parts.append("\n".join(f"> {line}" for line in about(report)))
    return "\n\n".join(parts) + "\n"


def _headed(text: str, report: Report) -> str:
    """The text with what is to be known first behind its title."""
    lines = [report.review_line]
    if marked := checked_line(report):
        anchor = re.sub(r"[^\w\s-]", "", CHECKED.lower()).replace(" ", "-")
        lines.append(f"**{marked}**: [{CHECKED}](#{anchor}).")
    title, _, rest = text.partition("\n")
    if not title.startswith("# "):
        title, rest = "", text
    return "\n\n".join(part for part in (title, f"> {' '.join(lines)}", rest.strip()) if part)
