"""What has changed between two reports."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from deskwork.tasks.changes import Changes, in_words
from deskwork.tasks.claims import Claim
from deskwork.tasks.comparing import changes_between
from deskwork.tasks.publishing.markdown import markdown_of
from deskwork.tasks.publishing.numbering import numbered
from deskwork.tasks.report import Report
from deskwork.tools.figures import Figure
from deskwork.tools.tool import Evidence

FILES = {"E00000001": "acme_10k_2025.pdf", "E00000002": "other.pdf", "E00000003": "acme_2026.pdf"}


def report(
    *claims: str, figures: tuple[Figure, ...] = (), job: str = "one", title: str = "# Title"
) -> Report:
    evidence = tuple(Evidence(name, file, 1, "q", "0" * 64, 0) for name, file in FILES.items())
    made = tuple(Claim(text, ("E00000001",), "supported") for text in claims)
    text = "\n\n".join([title, *claims])
    return Report(job, "done", "Q?", text, evidence, made, figures)


def figure(value: str, label: str = "Net sales", **more: object) -> Figure:
    name = f"F{abs(hash((value, label, str(more)))) % 10**8:08d}"
    fields: dict[str, object] = {"id": name, "unit": "money"}
    fields |= {"scale": 6, "currency": "USD", "period_end": "2025", "evidence": ("E00000001",)}
    return Figure(label=label, value=Decimal(value), **{**fields, **more})  # type: ignore[arg-type]


def test_new_changed_and_gone_claims() -> None:
    before = report("Sales rose to 842.6 million.", "Freight was cheap.", "Costs fell.")
    after = report("Sales rose to 843.1 million.", "Costs fell.", "A plant opened in Ulm.")
    found = changes_between(before, after, "2026-12-01")
    ((change,), (new,), (gone,)) = found.changed_claims, found.new_claims, found.gone_claims
    assert (change.before, change.after) == (
        "Sales rose to 842.6 million.",
        "Sales rose to 843.1 million.",
    )
    assert (new.after, gone.before) == ("A plant opened in Ulm.", "Freight was cheap.")
    assert new.evidence == ("E00000001",)


def test_a_reworded_claim_is_changed_and_not_new() -> None:
    before = report("Management expects that margins improve slightly over the next year.")
    after = report("Management expects that margins improve strongly over the next year.")
    found = changes_between(before, after, "d")
    assert len(found.changed_claims) == 1
    assert not found.new_claims
    assert not found.gone_claims


def test_citations_and_places_make_no_change() -> None:
    before = report("- Sales rose [E00000001].", "Costs fell [E00000002].")
    after = report("Costs fell [E00000003].", "1. Sales  rose [E00000002].")
    assert changes_between(before, after, "d").nothing


def test_a_figure_is_restated_by_its_value_or_its_vintage() -> None:
    before = report(figures=(figure("842.6"), figure("5", "EPS", vintage="as reported")))
    after = report(figures=(figure("840.1"), figure("5", "EPS", vintage="restated")))
    sales, eps = changes_between(before, after, "d").restated_figures
    assert (sales.before, sales.after, sales.why) == ("$842.6 million", "$840.1 million", "")
    assert (eps.before, eps.after) == ("$5 million", "$5 million")
    assert eps.why == "restated, before as reported"


def test_a_later_file_of_the_same_company_restates() -> None:
    before = report(figures=(figure("842.6"),))
    later = report(figures=(figure("840.1", evidence=("E00000003",)),))
    assert len(changes_between(before, later, "d").restated_figures) == 1
    # Another company's figure of the same name is another figure.
    other = report(figures=(figure("840.1", evidence=("E00000002",)),))
    found = changes_between(before, other, "d")
    assert (len(found.new_figures), len(found.gone_figures)) == (1, 1)
    assert not found.restated_figures


def test_the_same_amount_in_another_scale_is_the_same() -> None:
    before = report(figures=(figure("842.6"),))
    after = report(figures=(figure("842600", scale=3),))
    assert changes_between(before, after, "d").nothing


def test_another_period_unit_or_basis_is_another_figure() -> None:
    before = report(figures=(figure("842.6"),))
    for more in ({"period_end": "2026"}, {"currency": "EUR"}, {"basis": "non-GAAP"}):
        found = changes_between(before, report(figures=(figure("900", **more),)), "d")
        assert (len(found.new_figures), len(found.gone_figures)) == (1, 1), more


def test_a_second_value_under_one_name_hides_no_change() -> None:
    before = report(figures=(figure("1"), figure("2")))
    after = report(figures=(figure("2"), figure("3")))
    (row,) = changes_between(before, after, "d").restated_figures
    assert (row.before, row.after) == ("$1 million", "$3 million")


def test_the_report_begins_with_what_has_changed() -> None:
    before = report("Sales rose to 842.6 million.", figures=(figure("842.6"),))
    after = report("Sales rose to 843.1 million [E00000001].", figures=(figure("843.1"),), job="t")
    found = changes_between(before, after, "2026-12-01")
    shown = replace(after, changes=found.as_json())
    text = markdown_of(shown, numbered(shown))
    title, _, rest = text.partition("\n\n")
    assert title == "# Title"
    told = "> Not reviewed by a person.\n\n## What has changed since 2026-12-01"
    assert rest.startswith(told)
    assert "- Net sales, 2025: $843.1 million, before $842.6 million [1]" in rest
    assert "843.1 million. (before: Sales rose to 842.6 million.) [1]" in rest
    assert rest.index("before:") < rest.index("Sales rose to 843.1 million [1].")


def test_nothing_has_changed_is_one_sentence() -> None:
    same = report("Sales rose.")
    words = in_words(changes_between(same, replace(same, job="two"), "2026-12-01"))
    assert words.splitlines()[2:] == ["Nothing has changed since the report of 2026-12-01."]


def test_long_lists_are_cut_with_their_number() -> None:
    names = [f"{number:x}{'abcdef'[number % 6]}z" for number in range(40)]
    after = report(*[f"Plant {name} opened." for name in names])
    words = in_words(changes_between(report(), after, "d"))
    assert words.count("\n- Plant") == 30
    assert "- and 10 more, in report.json" in words


WORDS = st.text(st.sampled_from("ab 1.%|#-"), min_size=1, max_size=20)
FIGURES = st.builds(
    figure,
    st.decimals(-9, 9, places=1).map(str),
    st.sampled_from(["", "Sales", "sales", "Margin"]),
    evidence=st.sampled_from([(), ("E00000001",), ("E00000002",), ("E00000009",)]),
    vintage=st.sampled_from(["", "restated"]),
    scale=st.sampled_from([0, 6]),
)
REPORTS = st.builds(
    lambda claims, figures: report(*claims, figures=tuple(figures)),
    st.lists(WORDS, max_size=6),
    st.lists(FIGURES, max_size=6),
)


@given(REPORTS)
def test_a_report_has_not_changed_against_itself(one: Report) -> None:
    assert changes_between(one, replace(one, job="again"), "d").nothing


@given(REPORTS, REPORTS)
def test_nothing_is_lost_or_told_twice(one: Report, other: Report) -> None:
    forth, back = changes_between(one, other, "d"), changes_between(other, one, "d")
    assert Changes.from_json(json.loads(json.dumps(forth.as_json()))) == forth
    labelled = [len([f for f in r.figures if f.label]) for r in (one, other)]
    assert len(forth.new_figures) - len(forth.gone_figures) == labelled[1] - labelled[0]
    assert len(forth.new_figures) == len(back.gone_figures)
    assert len(forth.restated_figures) == len(back.restated_figures)
    assert len(forth.new_claims) - len(forth.gone_claims) == len(back.gone_claims) - len(
        back.new_claims
    )
