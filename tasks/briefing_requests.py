"""What a run of a standing report is asked for: its file's content, and which run it is.

The whole definition stands in the request, so that a worker on another machine can run it.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from deskwork.tasks.briefings import FORMS, Briefing
from deskwork.tasks.delivery.targets import Form, Target
from deskwork.tasks.encoding import dumps
from deskwork.tasks.requests import JobRequest, SourcesRequest

NAME = r"^[a-z0-9][a-z0-9-]{0,49}$"


class NewFiling(BaseModel):
    """The filing that started a run. ``filed`` is an ISO date."""

    model_config = ConfigDict(extra="forbid")

    accession: str = Field(description="Its accession number.")
    form: str = Field(description="Its form, such as 10-K.")
    company: str = Field(description="The company that filed it.")
    filed: str = Field(default="", description="The day on which it was filed.")
    url: str = Field(default="", description="Its primary document's address.")


class Issue(BaseModel):
    """Which run of a standing report this is; fixed when its job is made."""

    model_config = ConfigDict(extra="forbid")

    moment: str = Field(description="When it was due: ISO 8601, in UTC.")
    previous: str = Field(
        default="", description="The job of the run it is compared with; empty for the first."
    )
    since: str = Field(default="", description="When that one was made; empty for the first.")
    by_hand: bool = Field(default=False, description="Whether a person started it.")
    definition: str = Field(default="", description="A digest of the file that it was made from.")


class BriefingRequest(SourcesRequest):
    """One run of a standing report."""

    name: str = Field(pattern=NAME, description="The standing report's name.")
    sections: list[str] = Field(default=[], description="Headings or questions of the report.")
    timezone: str = Field(default="UTC", description="The time zone in which its dates are.")
    filings_of: list[str] = Field(default=[], description="Companies whose filings are used.")
    outputs: list[Form] = Field(default=FORMS, description="The forms of the report.")
    delivery: list[Target] = Field(default=[], description="Where the report goes.")
    when_unchanged: Literal["deliver", "skip"] = Field(
        default="deliver", description="What happens to a report that says nothing new."
    )
    filing: NewFiling | None = Field(default=None, description="The filing that starts the run.")
    issue: Issue | None = Field(
        default=None, description="Which run this is; left empty, it follows from the time."
    )

    @property
    def identity(self) -> list[str]:
        """All runs of one standing report are the same work, whatever its files have become."""
        return ["briefing", self.name]

    @property
    def definition(self) -> str:
        """A digest of what its file says, without which run it is and what may change."""
        left_out = {"issue", "job", "limits"}
        rest = self.model_dump(mode="json", by_alias=True, exclude=left_out)
        return hashlib.sha256(dumps(rest)).hexdigest()


class WatchRequest(JobRequest):
    """Looking for new filings; each starts a run of the standing report, once."""

    question: str = Field(default="Look for new filings.", description="What it is for.")
    briefing: BriefingRequest = Field(description="What each new filing starts.")
    forms: list[str] = Field(min_length=1, description="Forms, such as 10-K.")
    companies: list[str] = Field(min_length=1, description="Tickers, CIKs or names.")

    @property
    def name(self) -> str:
        """The id of the job that holds what was seen."""
        return f"watch-{self.briefing.name}"

    @property
    def identity(self) -> list[str]:
        """One watch for each standing report, whatever it looks for."""
        return ["watch", self.briefing.name]


def request_of(briefing: Briefing) -> BriefingRequest:
    """The request for a run of a standing report, by its file."""
    sources = briefing.sources
    online = True if sources.filings_of or briefing.trigger else None
    return BriefingRequest(
        name=briefing.name,
        question=briefing.question,
        sections=briefing.sections,
        timezone=briefing.schedule.timezone if briefing.schedule else "UTC",
        files=sources.files,
        web=online if sources.web is None else sources.web,
        filings_of=sources.filings_of,
        limits=briefing.limits,
        budget=briefing.budget,
        model=briefing.model,
        outputs=briefing.outputs,
        delivery=briefing.delivery,
        when_unchanged=briefing.when_unchanged,
    )


def request_by_hand(briefing: Briefing) -> BriefingRequest:
    """The same for a run that no filing has started: its words stand for all that may."""
    request = request_of(briefing)
    if briefing.trigger is None:
        return request
    filings = briefing.trigger.filings
    words = {
        "{company}": " and ".join(filings.companies),
        "{form}": " or ".join(filings.forms),
        "{accession}": "of each",
    }

    def filled(text: str) -> str:
        for name, value in words.items():
            text = text.replace(name, value)
        return text

    sections = [filled(section) for section in request.sections]
    return request.model_copy(update={"question": filled(request.question), "sections": sections})


def watch_of(briefing: Briefing) -> WatchRequest:
    """The request for a look for new filings. The file must have a trigger."""
    assert briefing.trigger is not None
    filings = briefing.trigger.filings
    watch = WatchRequest(
        briefing=request_of(briefing), forms=filings.forms, companies=filings.companies
    )
    return watch.model_copy(update={"job": watch.name})


def stated(request: BaseModel) -> dict[str, Any]:
    """A request as JSON holds it, in the names of its file."""
    return request.model_dump(mode="json", by_alias=True)
