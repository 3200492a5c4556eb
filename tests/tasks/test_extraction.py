"""The parts of extraction: schemas, values against quotes, totals, the built-in fields."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deskwork.tasks.bearing import Field, Notation, doubt
from deskwork.tasks.extracted import leaves
from deskwork.tasks.extractive_records import extraction
from deskwork.tasks.reconcile import disagreements
from deskwork.tasks.schema import field_at, load_schema
from deskwork.tools.errors import WrongUse


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no JSON"),
        ("[]", "is no JSON object"),
        ('{"type": "object"}', "no record with fields"),
        ('{"type": "object", "properties": {"a": {"type": "texts"}}}', "wrong at /properties/a"),
    ],
)
def test_a_wrong_schema_is_told(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "schema.json"
    path.write_text(text)
    with pytest.raises(WrongUse, match=message):
        load_schema(str(path))


def test_a_schema_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="can't be read"):
        load_schema(str(tmp_path / "none.json"))
    with pytest.raises(WrongUse, match="can't be loaded"):
        load_schema("no_such_module:Invoice")
    with pytest.raises(WrongUse, match="no pydantic class"):
        load_schema("json:dumps")


def test_a_pydantic_class_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "shapes.py"
    path.write_text(
        "from pydantic import BaseModel\n\n"
        "class Line(BaseModel):\n    text: str\n    amount: float\n\n"
        "class Bill(BaseModel):\n    number: str\n    lines: list[Line] = []\n"
    )
    schema = load_schema(f"{path}:Bill")
    assert schema.problems({"number": "1", "lines": [{"text": "a", "amount": 1}]}) == []
    (problem,) = schema.problems({"number": "1", "lines": [{"text": "a"}]})
    assert problem.startswith("/lines/0/amount: ")


@pytest.mark.parametrize(
    ("quote", "value"),
    [
        ("Net sales 1,234.5", 1234.5),
        ("Summe 1.234,50 EUR", 1234.5),
        ("1 234,50", 1234.5),
        ("(1,577)", -1577),
        ("842.6 million", 842_600_000),
        ("12.5 %", 0.125),
        ("5万元", 50_000),
        ("Account 5320130001", 5320130001),
        ("Acme Supplies Ltd, London", "ACME Supplies Ltd."),
        ("on March 3, 2026", "2026-03-03"),
        ("No. 2026-001", "2026-001"),
        ("IBAN: DE89 3704 0044 0532 0130 00", "DE89370400440532013000"),
        ("Status: paid in full", True),
        ("Status: NOT PAID", False),
        ("Withdrawal 120.00", -120.0),
        ("Total € 12.50", "EUR"),
        ("Société Générale S.A., Paris", "Societe Generale SA"),
        ("Rent 120.00-", -120.0),
        ("sold 1 234 pieces", 1234),
        ("Taxes 134 967 101", 967),
        ("会社名：株式会社テスト", "株式会社テスト"),
        ("Total: 506.40", "506.40"),
        ("Vendor:", "Vendor"),
    ],
)
def test_a_value_that_stands_in_its_quote(quote: str, value: object) -> None:
    assert doubt(quote, value) == ""


@pytest.mark.parametrize(
    ("quote", "value"),
    [
        ("Net sales 1,234.5", 1234.6),
        ("842.6 million", 842.6e9),
        ("842.6 million", 842.6),
        ("12 thousand", 12),
        ("5万元", 5),
        ("Acme Supplies Ltd", "Omega Holding GmbH"),
        ("on March 3, 2026", "1999-03-03"),
        ("on March 3, 2026", "2026-03-04"),
        ("04.03.25", "2004-03-25"),
        ("Acme Supplies Ltd", "Apex Supplies Ltd"),
        ("Net loss (1,577)", 1577),
        ("Net sales 1,577", -1577),
        ("Total with service charge: 506.40", -506.4),
        ("Total $ 12.50", "EUR"),
        ("1,577 1,373", 1577.1373),
        ("Total: 1 506,00 EUR", 1),
        ("Total: 1\u00a0506,00 EUR", 506),
        ("Account 5320130001", 5320130004),
        ("45,095,325,000,000", 45095325000123),
        ("IBAN: DE89 3704 0044 0532 0130 00", "DE8937040044053201300"),
        ("IBAN: DE89 3704 0044 0532 0130 00", "DE89370400440532"),
        ("Invoice A-1001", "A-100"),
        ("Invoice A-1001", "A1001"),
        ("Acme GmbH", "Ac"),
        ("Acme GmbH", "GmbH Acme"),
        ("Seller John Brown, buyer Anna Smith", "Smith John"),
        ("Total: 506.40", "50.640"),
        ("Total: 506.40", "-506.40"),
        ("Total: 506.40", "5"),
        ("Date 34/2025", "3/4/2025"),
        ("Vendor: Acme", "Vendor"),
        ("Status: NOT PAID", True),
        ("Status: paid", False),
        (f"Vendor Copper Ltd 10 {'and more words ' * 30} total 12.5", 12.5),
    ],
)
def test_a_value_that_does_not(quote: str, value: object) -> None:
    assert doubt(quote, value)


def test_what_the_schema_says_of_a_field_counts() -> None:
    schema = {
        "properties": {
            "kind": {"$ref": "#/$defs/kind"},
            "lines": {"type": "array", "items": {"properties": {"tax": {"enum": [7, 19]}}}},
            "name": {"type": "string", "description": "in millions"},
            "loop": {"$ref": "#/properties/loop"},
        },
        "$defs": {"kind": {"anyOf": [{"enum": ["invoice", "statement"]}, {"type": "null"}]}},
    }
    assert field_at(schema, "/kind").choices == ("invoice", "statement")
    assert field_at(schema, "/lines/0/tax") == Field("tax", "", (7, 19))
    assert "in millions" in field_at(schema, "/name").words
    assert field_at(schema, "/loop").choices == ()
    assert field_at(schema, "/no").choices == ()


def test_a_listed_value_is_a_judgement_unless_another_is_named() -> None:
    kind = Field("kind", "", ("invoice", "statement"))
    assert doubt("Rechnung Nr. 7", "invoice", kind) == ""
    assert doubt("Statement of account", "invoice", kind)
    currency = Field("currency", "", ("EUR", "USD"))
    assert doubt("Currency: EUR", "USD", currency)
    assert doubt("Currency: €", "EUR", currency) == ""


def test_percent_and_scale_need_a_field_that_means_them() -> None:
    assert doubt("Tax 20%: 84.40", 20, Field("tax"))
    assert doubt("Tax 20%: 84.40", 0.2, Field("tax_rate")) == ""
    assert doubt("842.6 million", 842.6, Field("sales", "in USD million")) == ""


def test_the_page_s_notation_decides() -> None:
    german, english = Notation.of("1.234,50 und 7,50"), Notation.of("1,234.50 and 7.50")
    assert doubt("Netto 1.234", 1234, notation=german) == ""
    assert doubt("Netto 1.234", 1.234, notation=german)
    assert doubt("Net 1,577", 1.577, notation=english)


def test_day_and_month_that_can_be_swapped_are_told() -> None:
    for value in ("2025-03-04", "2025-04-03"):
        assert "two readings" in doubt("Date 03/04/2025", value)
    american = Notation.of("Issued 03/04/2025, due 03/25/2025")
    assert doubt("Date 03/04/2025", "2025-03-04", notation=american) == ""
    assert doubt("Date 03/04/2025", "2025-04-03", notation=american)
    assert doubt("Date 03/03/2025", "2025-03-03") == ""


def test_pointers_are_escaped() -> None:
    assert list(leaves({"a/b": [{"c~d": 1, "none": None, "empty": ""}]})) == [("/a~1b/0/c~0d", 1)]


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ({"subtotal": 10.0, "tax": 1.0, "total": 12.0}, "make 11.00, but total is 12.00"),
        ({"lines": [{"amount": 1.0}, {"amount": 2.0}], "total": 5.0}, "2 lines add up to 3.00"),
        ({"invoice_date": "2026-03-02", "due_date": "2026-03-01"}, "is before invoice_date"),
        ({"currency": "EUR", "x": {"currency": "USD"}}, "several currencies: EUR, USD"),
        ({"netto": 100.0, "mwst": 19.0, "brutto": 129.0}, "make 119.00, but brutto is 129.00"),
        ({"nettobetrag": 1.0, "ust": 1.0, "gesamtbetrag": 3.0}, "gesamtbetrag is 3.00"),
        ({"totalHT": 100.0, "TVA": 20.0, "totalTTC": 130.0}, "totalTTC is 130.00"),
        ({"base": 100.0, "iva": 21.0, "importe": 131.0}, "importe is 131.00"),
        ({"base_imponible": 100.0, "iva": 21.0, "total": 131.0}, "total is 131.00"),
        ({"imponibile": 100.0, "iva": 22.0, "totale": 132.0}, "totale is 132.00"),
        ({"net": "1,422.00", "tax": "84.40", "total": "999.00"}, "but total is 999.00"),
        ({"totals": {"net": 10.0, "tax": 1.0, "total": 12.0}}, "make 11.00, but total is 12.00"),
        ({"a": {"net": 10.0}, "b": {"tax": 1.0}, "total": 12.0}, "but total is 12.00"),
        ({"net": 100.0, "vat_7": 7.0, "vat_19": 19.0, "total": 100.0}, "make 126.00"),
        ({"lines": [{"net": 1.0, "tax": 1.0, "total": 3.0}]}, "lines 1: net 1.00"),
        ({"positionen": [{"betrag": 1.0}], "totals": {"netto": 2.0}}, "1 positionen add up"),
        (
            {
                "opening_balance": 1000.0,
                "transactions": [{"amount": -900.0}, {"amount": 50.0}],
                "closing_balance": 160.0,
            },
            "opening_balance 1,000.00 and the 2 transactions of -850.00 make 150.00",
        ),
        (
            {
                "balances": {"anfangssaldo": 10.0, "endsaldo": 9.0},
                "umsaetze": [{"soll": 5.0, "haben": None}, {"soll": None, "haben": 7.0}],
            },
            "make 12.00, but balances.endsaldo is 9.00",
        ),
        (
            {
                "solde_initial": 10.0,
                "operations": [{"débit": 5.0}, {"crédit": 7.0}],
                "nouveau_solde": 9.0,
            },
            "make 12.00, but nouveau_solde is 9.00",
        ),
        (
            {
                "saldo_anterior": 10.0,
                "movs": [{"importe": 5.0, "tipo": "cargo"}],
                "saldo_final": 15.5,
            },
            "make 5.00, but saldo_final is 15.50",
        ),
    ],
)
def test_what_does_not_agree(record: dict[str, object], sentence: str) -> None:
    assert any(sentence in found for found in disagreements(record))


@pytest.mark.parametrize(
    "record",
    [
        {"subtotal": 10.0, "tax": 1.0, "total": 11.0},
        {"lines": [{"amount": 1.005}, {"amount": 2.0}], "total": 3.01},
        {"lines": [{"amount": 5.0}], "subtotal": 5.0, "tax": 1.0, "total": 6.0},
        {"total": 5.0, "lines": []},
        {"anything": ["a", "b"], "date": "soon"},
        {"net": 100.0, "vat_rate": 19, "vat": 19.0, "total": 119.0},
        {"net": 100.0, "vat": 19.0, "shipping": 5.0, "discount": 4.0, "total": 120.0},
        {"net": 100.0, "vat_7": 7.0, "vat_19": 19.0, "total": 126.0},
        {"net": 10.0, "tax": 1.0, "total": 11.0, "taxes": [{"amount": 1.0}]},
        {"opening_balance": 5.0, "closing_balance": 9.0, "transactions": [{"text": "a"}]},
        {"old": 5.0, "previous_balance": 5.0, "new_balance": 8.0, "charges": [{"amount": 3.0}]},
        {"opening_balance": 5.0, "lines": [{"amount": 3.0, "type": "Debit"}], "closing_balance": 2},
    ],
)
def test_what_agrees_or_can_t_be_told(record: dict[str, object]) -> None:
    assert disagreements(record) == []


def test_the_built_in_fields() -> None:
    schema = {
        "title": "Statement",
        "properties": {
            "account_number": {"type": "string"},
            "closing_balance": {"anyOf": [{"type": "number"}, {"type": "null"}]},
            "statement_date": {"type": "string", "format": "date"},
            "status": {"enum": ["open", "closed"]},
            "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
            "missing": {"type": "string"},
        },
        "$defs": {
            "Line": {
                "properties": {
                    "date": {"type": "string", "format": "date"},
                    "amount": {"type": "number"},
                }
            }
        },
    }
    page = (
        "Account No. DE-12 34\nStatus: Open\nStatement date: March 31, 2026\n\n"
        "| Date | Amount |\n|---|---|\n| 01.03.2026 | (12,50) |\n| 02.03.2026 | 1,234.00 |\n\n"
        "Closing balance: -1.234,56 EUR\n"
    )
    brief = (
        f"Schema of a record:\n```json\n{json.dumps(schema)}\n```\n\nFile: a\n\n## Page 1\n\n{page}"
    )
    (document,) = json.loads(extraction(brief))["documents"]
    assert document["record"] == {
        "account_number": "DE-12 34",
        "closing_balance": -1234.56,
        "statement_date": "2026-03-31",
        "status": "open",
        "lines": [
            {"date": "2026-03-01", "amount": -12.5},
            {"date": "2026-03-02", "amount": 1234.0},
        ],
    }
    assert document["evidence"]["/lines/1/amount"]["quote"] == "| 02.03.2026 | 1,234.00 |"
