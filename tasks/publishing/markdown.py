"""The report as Markdown, with numbered citations, its appendix and its list of sources."""

from __future__ import annotations

import re

from deskwork.tasks.claims import CITATION
from deskwork.tasks.publishing.numbering import (
    EVIDENCE_ID,
    about,
    appendix_of,
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

    parts = [CITATION.sub(cite, printed_text(report)).strip()]
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
