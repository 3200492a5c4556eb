"""The check of a report's sentences: citations, quotations, numbers, companies, figures."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from deskwork.tasks.claims import Checked, check
from deskwork.tasks.conflicts import conflicts_of
from deskwork.tasks.ledger import Ledger
from deskwork.tasks.printing import MARK, marked, print_figures
from deskwork.tasks.sentences import sentences_of
from deskwork.tools.errors import ToolError
from deskwork.tools.figures import Figure, Said, bind
from deskwork.tools.formulas import Wanted, derive
from deskwork.tools.library import Library
from deskwork.tools.printed import printed_in
from deskwork.tools.tool import Evidence

PAGE = """# Acme Corp annual report

Consolidated statement of cash flows
(Millions of dollars) 2025 2024 2023

Net sales 8,426 7,813 7,359
Purchases of property, plant and equipment (648) (471) (416)
Other income (expense), net (207) 12 30
Gross margin 42.0% 40.6% 39.6%
Diluted earnings per share 4.31 3.90 3.75

Net sales rose 7.8% to $8,426 million in fiscal 2025. It employs 12,400 people.
"""
OTHER = "# Omega Ltd report\n\nNet sales came to $51.2 million in 2025. Net sales fell.\n"

Cite = Callable[..., str]


class Desk:
    """A ledger that grows as a test cites and binds."""

    def __init__(self, folder: Path) -> None:
        files = folder / "files"
        files.mkdir()
        (files / "acme_2025_10K.md").write_text(PAGE)
        (files / "omega_2025_10K.md").write_text(OTHER)
        self.collection = Library(folder / "home").collect([files])
        self.evidence: dict[str, Evidence] = {}
        self.figures: dict[str, Figure] = {}

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.collection, self.evidence, self.figures)

    def cite(self, quote: str, file: str = "acme_2025_10K.md") -> str:
        item = self.collection.find_quote(file, 1, quote)
        self.evidence[item.id] = item
        return item.id

    def bind(
        self, evidence: str, value: str, end: str, label: str = "Acme, a row", **more: str
    ) -> str:
        item = self.evidence[evidence]
        page = self.collection.page(item.file, 1).text
        tables = self.collection.tables(item.file, 1)
        printed = printed_in(item.quote, page, item.start, tables)
        figure = bind(Said("Acme, a row", value, end, **more), evidence, printed, item.quote, page)
        self.figures[figure.id] = figure
        return figure.id

    def check(self, text: str) -> Checked:
        return check(text, self.ledger)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


SALES = "Net sales 8,426 7,813 7,359"
CAPEX = "Purchases of property, plant and equipment (648) (471) (416)"
OTHER_INCOME = "Other income (expense), net (207) 12 30"
MARGIN = "Gross margin 42.0% 40.6% 39.6%"
EPS = "Diluted earnings per share 4.31 3.90 3.75"


@pytest.mark.parametrize(
    ("quote", "sentence"),
    [
        (SALES, "Net sales were $8,426 million in 2025 [{}]."),
        (SALES, "Net sales were $8.4 billion in 2025, against $7,813 million in 2024 [{}]."),
        (SALES, "Net sales were $8,426, $7,813 and $7,359 million in 2025, 2024 and 2023 [{}]."),
        (SALES, "Net sales rose 7.8% in 2025 [{}]."),
        (SALES, "Net sales rose by $613 million in 2025 [{}]."),
        (CAPEX, "Acme spent $648 million on plants in fiscal 2025 (page 46, Note 12) [{}]."),
        (CAPEX, "Capital expenditures rose 37.6% in 2025 [{}]."),
        (OTHER_INCOME, "Other income was -$207 million in 2025 [{}]."),
        (MARGIN, "The gross margin was 42.0% in 2025 [{}]."),
        (MARGIN, "The gross margin rose 1.4 percentage points in 2025 [{}]."),
        (EPS, "Diluted earnings per share were $4.31 in 2025 [{}]."),
        (MARGIN, "The gross margin widened by 140 basis points in 2025 [{}]."),
        (SALES, "Net sales rose to $8,426 million in 2025, from $7,813 million in 2024 [{}]."),
        (SALES, "“Net sales 8,426 7,813 7,359” [{}]"),
        (
            SALES,
            "As of December 31, 2025, the 10-K shows sales of $8,426 million [{}].",
        ),
    ],
)
def test_what_its_source_bears_out(desk: Desk, quote: str, sentence: str) -> None:
    found = desk.check(sentence.format(desk.cite(quote)))
    assert found.problems == []
    assert [claim.status for claim in found.claims] == ["supported"]


@pytest.mark.parametrize(
    ("quote", "sentence", "problem"),
    [
        (SALES, "Net sales were $8,426 billion in 2025 [{}].", "another scale"),
        (SALES, "Net sales were $8,426 in 2025 [{}].", "another scale"),
        (SALES, "Net sales were $8,436 million in 2025 [{}].", "does not stand"),
        (SALES, "Net sales were $7,813 million in 2025 [{}].", "is of 2024"),
        (SALES, "Net sales were €8,426 million in 2025 [{}].", "in EUR"),
        (SALES, "Net sales rose 9.8% in 2025 [{}].", "does not stand"),
        (SALES, "Net sales fell 7.8% in 2025 [{}].", "does not stand"),
        (OTHER_INCOME, "Other income was $207 million in 2025 [{}].", "lost its sign"),
        (SALES, "Net sales were -$8,426 million in 2025 [{}].", "is negative"),
        (SALES, "Omega sold for $8,426 million in 2025 [{}].", "names omega"),
        (SALES, "Net sales were “8,426 million of gold” in 2025 [{}].", "does not stand"),
        (SALES, "Net sales were $8,426 million in 2025.", "cites nothing"),
        (SALES, "The company has 12 segments [{}].", "does not stand"),
        (MARGIN, "The gross margin was 42.0% in 2024 [{}].", "is of 2025"),
        (MARGIN, "The gross margin widened by 150 basis points in 2025 [{}].", "does not stand"),
        (
            SALES,
            "Net sales fell to $8,426 million in 2025, from $7,813 million in 2024 [{}].",
            "wrong direction",
        ),
        (SALES, "Net sales were twelve billion dollars in 2025 [{}].", "does not stand"),
        (SALES, "Net sales were [about 99 billion](https://a.example) in 2025 [{}].", "99"),
        (SALES, "It sells Part 9,900 million [{}].", "9,900"),
        (SALES, "It said “net sales came to $51.2 million” of 2025 [{}].", "does not stand"),
        (SALES, "It grew [E00000000].", "no evidence of this job"),
        (SALES, "It grew [E1].", "no evidence of this job"),
        (SALES, "It grew to {{F00000000}} [{}].", "no figure or chart of this job"),
    ],
)
def test_what_it_does_not(desk: Desk, quote: str, sentence: str, problem: str) -> None:
    found = desk.check(sentence.format(desk.cite(quote)))
    (said,) = found.problems
    assert problem in said


def test_rows_of_a_table_take_scale_and_year_from_its_head(desk: Desk) -> None:
    sales, capex = desk.cite(SALES), desk.cite(CAPEX)
    head = "| $ in millions | 2025 | 2024 |\n|---|---|---|\n"
    good = f"{head}| Net sales | 8,426 | 7,813 [{sales}] |\n| Capex | (648) | (471) [{capex}] |"
    assert desk.check(good).problems == []
    swapped = f"{head}| Net sales | 7,813 | 8,426 [{sales}] |"
    (problem,) = desk.check(swapped).problems
    assert "is of 2024" in problem
    assert desk.check(good.replace("millions", "thousands")).problems


def test_numbers_of_a_sentence_become_figures(desk: Desk) -> None:
    found = desk.check(f"Net sales rose 7.8% to $8,426 million in 2025 [{desk.cite(SALES)}].")
    bound = {figure.status: figure for figure in found.figures}
    assert bound["bound"].amount == Decimal(8_426_000_000)
    assert (bound["bound"].label, bound["bound"].period_end) == ("Net sales", "2025")
    assert bound["derived"].printed() == "7.8%"
    assert bound["derived"].formula == "(8,426 - 7,813) / 7,813"


def test_a_bound_figure_is_printed_from_the_ledger(desk: Desk) -> None:
    capex = desk.cite(CAPEX)
    new, old = desk.bind(capex, "(648)", "2025-12-31"), desk.bind(capex, "(471)", "2024-12-31")
    growth = derive(
        f"({new} - {old}) / {old}", desk.figures.get, Wanted("Capex, growth", unit="%")
    )  # fmt: skip
    desk.figures[growth.id] = growth
    text = f"Capex was {{{new}|abs}} in 2025, {{{growth.id}}} more."
    found = desk.check(text)
    assert found.problems == []
    assert found.claims[0].evidence == (capex,)
    printed = print_figures(text, desk.figures)
    assert printed == "Capex was $648 million in 2025, 37.6% more."
    (problem,) = desk.check(f"Capex was {{{new}}} in 2022.").problems
    assert "is of 2025" in problem
    # In a table the bar is escaped, or it would begin a cell.
    row = f"| Year | Capex |\n|---|---|\n| 2025 | {{{new}\\|abs}} |"
    assert desk.check(row).problems == []
    assert print_figures(row, desk.figures).endswith("| 2025 | $648 million |")


@pytest.mark.parametrize("form", ["|size", "\\|size", ":.1f", " in millions"])
def test_another_form_of_a_bound_figure_is_told(desk: Desk, form: str) -> None:
    new = desk.bind(desk.cite(CAPEX), "(648)", "2025-12-31")
    (problem,) = desk.check(f"Capex was {{{new}{form}}} in 2025.").problems
    assert "is no figure or chart of this job" in problem


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Vega Inc.", "Vega Inc."),
        ("the Vega Nova Corporation", "Vega Nova Corporation"),
        ("Zenda AG", "Zenda AG"),
    ],
)
def test_a_company_that_no_source_names_is_told(desk: Desk, name: str, told: str) -> None:
    sales = desk.cite(SALES)
    (problem,) = desk.check(f"Net sales of {name} rose 7.8% in 2025 [{sales}].").problems
    assert f"names {told}, and none of the sources does" in problem
    assert desk.check(f"Meanwhile net sales rose 7.8% in 2025 [{sales}].").problems == []


@pytest.mark.parametrize(
    ("value", "end", "more", "problem"),
    [
        ("649", "2025", {}, "does not stand in the quote"),
        ("648", "2025", {}, "another sign"),
        ("(648)", "2024", {}, "stands under 2025"),
        ("(648)", "soon", {}, "no date"),
        ("(648)", "2025", {"scale": "thousands"}, "in millions in its source"),
        ("(648)", "2025", {"scale": "dozens"}, "no scale"),
        ("(648)", "2025", {"currency": "EUR"}, "in USD in its source"),
        ("a lot", "2025", {}, "not one number"),
    ],
)
def test_a_figure_that_its_source_contradicts_is_refused(
    desk: Desk, value: str, end: str, more: dict[str, str], problem: str
) -> None:
    with pytest.raises(ToolError, match=problem):
        desk.bind(desk.cite(CAPEX), value, end, **more)


@pytest.mark.parametrize(
    ("formula", "problem"),
    [
        ("1 + 1", "uses no figure"),
        ("{sales} +", "can't be read"),
        ("{sales} + {eps}", "can't be added"),
        ("{sales} / ({sales} - {sales})", "can't be computed"),
        ("{sales} ** 2", "Only a ratio"),
        ("open('{sales}')", "can't hold|no function"),
        ("F00000000 * 2", "no figure F00000000"),
    ],
)
def test_formulas_that_make_no_sense(desk: Desk, formula: str, problem: str) -> None:
    sales = desk.bind(desk.cite(SALES), "8,426", "2025")
    eps = desk.bind(desk.cite(EPS), "4.31", "2025", unit="money/share", currency="USD")
    with pytest.raises(ToolError, match=problem):
        derive(formula.format(sales=sales, eps=eps), desk.figures.get, Wanted("x"))


def test_formulas_keep_their_units(desk: Desk) -> None:
    sales = desk.bind(desk.cite(SALES), "8,426", "2025")
    capex = desk.bind(desk.cite(CAPEX), "(648)", "2025")
    find = desk.figures.get
    assert derive(f"-{capex} / {sales}", find, Wanted("share", unit="%")).printed() == "7.7%"
    assert derive(f"{sales} + {capex}", find, Wanted("left")).printed() == "$7,778 million"
    assert derive(f"{sales} / abs({capex})", find, Wanted("ratio")).printed() == "13.00x"
    billion = Wanted("sales", scale="billions", digits=1)
    assert derive(f"{sales} * 1", find, billion).printed() == "$8.4 billion"
    with pytest.raises(ToolError, match="not %"):
        derive(f"{sales} * 1", find, Wanted("sales", unit="%"))


def test_headings_may_sum_up_what_the_text_states(desk: Desk) -> None:
    text = f"# Sales of $8.4 billion\n\nNet sales were $8,426 million in 2025 [{desk.cite(SALES)}]."
    assert desk.check(text).problems == []
    (problem,) = desk.check(text.replace("$8.4", "$99.4")).problems
    assert problem.startswith('"Sales of $99.4 billion"')


def test_a_figure_is_printed_with_its_own_sign_and_scale(desk: Desk) -> None:
    capex = desk.bind(desk.cite(CAPEX), "(648)", "2025-12-31")
    for form in ("{%s} billion", "minus {%s}", "-{%s}", "${%s}"):
        assert "and another stands" in desk.check(f"It was {form % capex}.").problems[0]
    (problem,) = desk.check(f"Capex was {{{capex}}} in 2024.").problems
    assert "is of 2025" in problem


@pytest.mark.parametrize("unit", ["%", "x", "shares", "money/share"])
def test_a_unit_that_the_source_does_not_have_is_refused(desk: Desk, unit: str) -> None:
    with pytest.raises(ToolError, match="is not in"):
        desk.bind(desk.cite(SALES), "8,426", "2025", unit=unit)


def test_an_invented_number_makes_no_figure(desk: Desk) -> None:
    sales = desk.bind(desk.cite(SALES), "8,426", "2025")
    for formula in (f"99999 + 0 * {sales} / {sales}", f"{sales} * 7.5", f"{sales} / {sales} + 12"):
        with pytest.raises(ToolError, match=r"can't hold the number|Only 1 can"):
            derive(formula, desk.figures.get, Wanted("x"))


def test_the_same_thing_from_two_sources_is_compared(desk: Desk) -> None:
    (desk.collection.files[0].path.parent / "acme_8K.md").write_text(
        "Press release (Millions of dollars) 2025 2024\n\nNet sales 8,500 7,813\n"
    )
    desk.collection = Library(desk.collection.files[0].path.parents[1] / "home").collect(
        [desk.collection.files[0].path.parent]
    )
    filed, told = desk.cite(SALES), desk.cite("Net sales 8,500 7,813", "acme_8K.md")
    text = (
        f"Sales were $8,426 million in 2025 [{filed}]. They were $8,500 million in 2025 [{told}]."
    )
    found = desk.check(text)
    (conflict,) = conflicts_of(found.figures, desk.evidence)
    assert conflict.shown == "$8,426 million (acme_2025_10K.md); $8,500 million (acme_8K.md)"
    agreeing = desk.check(f"Sales were $7,813 million in 2024 [{filed}] [{told}].")
    assert conflicts_of(agreeing.figures, desk.evidence) == []


def test_what_does_not_stand_is_marked_where_it_stands(desk: Desk) -> None:
    text = f"# T\n\nIt grew  a\nlot by 5 million. It is fine.\n\n| a | 9.5 |\n| b | {'x'} |"
    found = desk.check(text)
    out = marked(text, found.claims)
    assert f"lot by 5 million. {MARK} It is fine." in out
    assert out.count(MARK) == len(found.problems)


def test_full_stops_within_a_quote_end_no_sentence() -> None:
    bullet = "“Sales were 5.0. Costs rose to 4.0.” — a.pdf, page 12 [E00000001]"
    texts = [sentence.text for sentence in sentences_of(f"- {bullet}\n- Next. Last.")]
    assert texts == [f"- {bullet}", "- Next.", "Last."]


def test_a_quote_within_a_quote_and_one_that_never_closes() -> None:
    nested = "“He said “No. Never.” Then 9.5 left.” [E00000001]"
    assert [sentence.text for sentence in sentences_of(nested)] == [nested]
    never = [sentence.text for sentence in sentences_of("“Open. It costs 1.5 million.")]
    assert never == ["“Open.", "It costs 1.5 million."]


@pytest.mark.parametrize(
    ("quote", "sentence", "printed", "formula"),
    [
        (SALES, "Net sales rose 7.8% in 2025 [{}].", "7.8%", "(8,426 - 7,813) / 7,813"),
        (MARGIN, "Gross margin rose 1.4 points in 2025 [{}].", None, None),
        (CAPEX, "Capital expenditures rose 37.6% in 2025 [{}].", "37.6%", "(648 - 471) / 471"),
        ("Other income (expense), net (207) 12 30",
         "Other income, net fell by $219 million in 2025 [{}].",
         "-$219 million", "(-207) - 12"),
    ],
)  # fmt: skip
def test_a_computed_figure_has_the_sign_of_its_formula(
    desk: Desk, quote: str, sentence: str, printed: str | None, formula: str | None
) -> None:
    found = desk.check(sentence.format(desk.cite(quote)))
    assert found.problems == []
    derived = [(f.printed(), f.formula) for f in found.figures if f.status == "derived"]
    assert derived == ([(printed, formula)] if printed else derived)
    assert all("$" not in figure.label for figure in found.figures)


def test_days_in_a_quote_are_no_figures(desk: Desk) -> None:
    rows = "At December 31, 2025 1,250\nNet sales 8,426 7,813"
    (desk.collection.files[0].path.parent / "acme_2025_10K.md").write_text(
        f"# Acme\n\n(Millions of dollars) 2025 2024\n\n{rows}\n"
    )
    folder = desk.collection.files[0].path.parent
    desk.collection = Library(folder.parent / "home").collect([folder])
    first, second = (desk.cite(row) for row in rows.split("\n"))
    text = f"“At December 31, 2025 1,250” [{first}]. “Net sales 8,426 7,813” [{second}]."
    values = {figure.value for figure in desk.check(text).figures}
    assert Decimal(31) not in values
    assert {Decimal(8426), Decimal(7813)} <= values


def test_a_label_ends_where_its_words_end(desk: Desk) -> None:
    sales = desk.bind(desk.cite(SALES), "8,426", "2025")
    assert derive(f"{sales} * 1", desk.figures.get, Wanted("Revenue . . . $")).label == "Revenue"
