"""What is delivered: a report's files, and what a message says of it. And how sending may fail.

Transient        it was surely not sent; trying again may help
├── NotReached   the other side can't be reached, or asked to come again
Stop             it was surely not sent; a person has to mend something
├── Refused      the other side said no, or the secret is missing
└── Unknown      it may have been sent, or not
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deskwork.tasks.changes import Changes, in_words
from deskwork.tasks.claims import CITATION
from deskwork.tasks.publishing.numbering import printed_text, title_of
from deskwork.tasks.report import Report
from deskwork.tasks.sentences import sections_of
from deskwork.tools.errors import Stop, Transient


class NotReached(Transient):
    """It was not sent, and the reason may pass."""


class Refused(Stop):
    """It was not sent, and won't be before something is mended."""


class Unknown(Stop):
    """It is not known whether it was sent."""


@dataclass(frozen=True)
class Parcel:
    """A report on its way. ``files`` are its forms by their suffix, as ``pdf``.

    ``key`` is the same however often this delivery is tried, and no other delivery's.
    """

    key: str
    job: str
    title: str
    text: str
    files: dict[str, Path]
    data: dict[str, Any]

    def of(self, forms: Sequence[str] | None) -> list[Path]:
        """The files of these forms, or all; those that the report doesn't have are left out."""
        return [path for form, path in self.files.items() if forms is None or form in forms]


def parcel_of(report: Report, files: Sequence[str], key: str, outputs: Sequence[str]) -> Parcel:
    """The parcel of a published report, with the forms that its file asks for."""
    paths = {Path(file).suffix[1:]: Path(file) for file in files}
    return Parcel(
        key,
        report.job,
        " ".join(title_of(report).split()),
        message_of(report),
        {form: path for form, path in paths.items() if form in outputs},
        report.as_json(),
    )


def message_of(report: Report) -> str:
    """The words of a message: what has changed, else the summary, and what state it is in."""
    if report.changes is not None:
        told = in_words(Changes.from_json(report.changes))
    else:
        sections = sections_of(printed_text(replace(report, charts=())))
        told = next((s.text for s in sections if s.text.strip()), "")[:2_000]
    told = re.sub(r"\*\*|^#+ ", "", CITATION.sub("", told), flags=re.M).strip()
    told = re.sub(r"[ \t]+(?=[.,;:\n]|$)", "", told)
    return f"{told}\n\nJob {report.job}, state: {report.state}. {report.review_line}"
