import pytest

from deskwork.tools.questions import parse, years
from deskwork.tools.statements import traits


def looked_for(query: str) -> str:
    return " ".join(group.match for group in parse(query).groups)


@pytest.mark.parametrize(
    ("query", "term", "statement"),
    [
        ("FY2018 capex", '"purchases of property"', "cash"),
        ("What is the days payable outstanding?", '"accounts payable"', "balance"),
        ("COGS in 2016", '"cost of sales"', "income"),
        ("Inventory turnover ratio", '"inventories"', "income"),
        ("Does it have positive working capital?", '"current liabilities"', "balance"),
        ("EPS growth", '"earnings per share"', "income"),
        ("net PP&E", '"property plant and equipment"', "balance"),
        ("D&A margin", '"depreciation and amortization"', "cash"),
        ("Return on assets", '"total assets"', "balance"),
    ],
)
def test_financial_terms_become_what_filings_write(query: str, term: str, statement: str) -> None:
    assert term in looked_for(query)
    assert statement in parse(query).statements


def test_a_statement_that_is_named_counts_most() -> None:
    statements = parse("Using only the balance sheet, what is the revenue multiple?").statements
    assert statements["balance"] == 1.0 > statements["income"]


def test_a_question_for_reasons_looks_beyond_the_statements() -> None:
    plain, reasons = parse("gross margin").statements, parse("What drove gross margin?").statements
    assert reasons["income"] < plain["income"]


def test_the_wording_of_the_task_is_left_out() -> None:
    terms = looked_for("Please answer in USD millions, rounded to two decimal places: goodwill")
    assert "millions" not in terms
    assert "decimal" not in terms
    assert '"goodwill"' in terms


def test_years() -> None:
    assert years("from FY2017 to FY19, and in 2018") == (2017, 2018, 2019)
    assert years("12018 pieces") == ()


def test_a_statement_is_told_from_a_note_that_speaks_of_it() -> None:
    statement = traits(
        "Halden Instruments\nConsolidated Balance Shee t\nAt September 30 2025 2024\n"
        "Cash and cash equivalents 120.9 128.4\nAccounts payable 74.3 68.3\n"
        "Total assets 917.1 852.1\nTotal liabilities 347.1 366.1\nTotal equity 570.0 486.0"
    )
    note = traits(
        "Note 4\nThe balance sheet includes accounts payable of $74.3 million.\n"
        "Total assets are shown in the consolidated balance sheet.\n"
        "They are described in the following paragraphs.\nNo other items exist."
    )
    assert statement.balance > 0.8
    assert max(statement.income, statement.cash) < 0.3
    assert note.balance < 0.2
