import asyncio
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from deskwork.tools.desk import DocumentDesk
from deskwork.tools.errors import NotFound, ToolError
from deskwork.tools.library import Library
from deskwork.tools.registry import default_tools
from deskwork.tools.tables.columns import columns_of, printed_number, slug
from deskwork.tools.tables.naming import tables_named
from deskwork.tools.tables.tools import answered
from deskwork.tools.tool import ToolResult
from tests.tools.made import SHARED, xlsx

CSV = "Region;Sales 2024;Margin\nNorth;1.577,0;12,5%\nSouth;(363,5);—\nWest;2.000,25;7,5%\n"


@pytest.fixture
def desk(tmp_path: Path) -> DocumentDesk:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "by-region.csv").write_text(CSV)
    rows: list[list[object]] = [
        ["($ in millions)", 2024, 2023],
        ["Net sales", "$ 32,765", "$ 31,657"],
        ["Purchases of equipment", "(1,577)", "(1,373)"],
        ["Other", "—", "5"],
    ]
    (folder / "book.xlsx").write_bytes(xlsx({"Cash flows": rows}))
    path = folder / "orders.parquet"
    orders = duckdb.sql(
        "SELECT i AS id, i * 1.5 AS price, DATE '2024-01-01' + i::INTEGER AS day "
        "FROM range(1, 301) r(i)"
    )
    assert orders is not None
    orders.write_parquet(str(path))
    return DocumentDesk(Library(tmp_path / "home").collect([folder]))


def run(name: str, desk: DocumentDesk, **arguments: Any) -> ToolResult:
    return asyncio.run(default_tools()[name].run(arguments, desk))


def query(desk: DocumentDesk, sql: str) -> ToolResult:
    return run("query_table", desk, sql=sql)


def test_tables_are_listed_with_names_columns_and_places(desk: DocumentDesk) -> None:
    listed = run("list_tables", desk)
    by_name = {row["name"]: row for row in listed.data}
    assert set(by_name) == {"book_p1_1", "by_region", "orders"}
    assert by_name["book_p1_1"]["columns"] == [
        "label", "y2024", "y2024_text", "y2023", "y2023_text",
    ]  # fmt: skip
    assert "book_p1_1 · book.xlsx, page 1 · 3 rows" in listed.text
    assert "Net sales; Purchases of equipment" in listed.text
    assert run("query_table", desk).text == listed.text
    assert [row["name"] for row in run("list_tables", desk, about="purchases").data] == [
        "book_p1_1"
    ]
    with pytest.raises(NotFound):
        run("list_tables", desk, file="none.csv")


def test_printed_numbers_are_numbers_beside_their_text(desk: DocumentDesk) -> None:
    result = query(desk, "SELECT region, sales_2024, margin, margin_text FROM by_region")
    assert result.data["rows"] == [
        ["North", "1577.00", "12.5", "12,5%"],
        ["South", "-363.50", None, "—"],
        ["West", "2000.25", "7.5", "7,5%"],
    ]
    assert result.data["origins"][1] == [{"file": "by-region.csv", "rows": [3], "pages": [1]}]
    assert "by_region = by-region.csv, page 1" in result.text


def test_sums_are_exact_and_tell_their_rows(desk: DocumentDesk) -> None:
    result = query(desk, "SELECT sum(y2024) AS s FROM book_p1_1 WHERE y2024 IS NOT NULL")
    assert result.data["rows"] == [["31188"]]
    assert result.data["origins"] == [[{"file": "book.xlsx", "rows": [2, 3], "pages": [1]}]]
    assert "| 31188 | 2, 3 |" in result.text
    assert "$ in millions" in result.text


def test_joins_groups_and_distinct_rows(desk: DocumentDesk) -> None:
    joined = query(
        desk,
        "SELECT a.label, o.price FROM book_p1_1 a JOIN orders o ON o.id = a._row ORDER BY 1",
    )
    assert joined.data["total"] == 3
    assert "book_p1_1: 4; orders: 5" in joined.text
    grouped = query(desk, "SELECT margin IS NULL AS none, count(*) FROM by_region GROUP BY ALL")
    assert sorted(row[1] for row in grouped.data["rows"]) == ["1", "2"]
    distinct = query(desk, "SELECT DISTINCT margin > 0 AS m FROM by_region")
    assert distinct.data["total"] == 2  # a row number would have made three
    assert distinct.data["origins"] == [[], []]
    with_cte = query(desk, "WITH t AS (SELECT * FROM by_region) SELECT count(*) FROM t")
    assert with_cte.data["rows"] == [["3"]]


def test_long_results_are_counted_and_cut(desk: DocumentDesk) -> None:
    result = query(desk, "SELECT id, day FROM orders")
    assert result.text.startswith("300 rows; the first 200 are shown.")
    assert len(result.data["rows"]) == 200
    assert result.data["rows"][0] == ["1", "2024-01-02"]
    last = query(desk, "SELECT * FROM orders WHERE id = 300").data["origins"][0][0]
    assert last["rows"] == [301]
    text = desk.collection.page("orders.parquet", last["pages"][0]).text
    assert "| 300 | 450.0 | 2024-10-27 |" in text


def test_errors_tell_the_tables_and_columns_there_are(desk: DocumentDesk) -> None:
    with pytest.raises(ToolError, match=r"no_such does not exist.*Tables: book_p1_1, by_region"):
        query(desk, "SELECT * FROM no_such")
    with pytest.raises(ToolError, match=r"Its tables: by_region\(region, sales_2024, sales_"):
        query(desk, "SELECT profit FROM by_region")
    with pytest.raises(ToolError, match="yntax error"):
        query(desk, "SELEC * FROM by_region")


@pytest.mark.parametrize(
    "sql",
    [
        "COPY by_region TO '{folder}/out.csv'",
        "ATTACH '{folder}/other.db'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM request",
        "PRAGMA database_list",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET memory_limit = '99GB'",
        "CREATE TABLE t AS SELECT 1",
        "INSERT INTO by_region SELECT * FROM by_region RETURNING *",
        "EXPORT DATABASE '{folder}/export'",
        "SELECT 1; SELECT 2",
        "CALL pragma_version()",
        "EXPLAIN ANALYZE SELECT 1",
        "SELECT getenv('PATH')",
        "",
        "-- nothing",
    ],
)
def test_only_one_select_over_the_tables_runs(desk: DocumentDesk, tmp_path: Path, sql: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    if not sql:
        assert "by_region" in query(desk, sql).text
        return
    with pytest.raises(ToolError):
        query(desk, sql.format(folder=tmp_path))
    assert sorted(tmp_path.rglob("*")) == before


def test_a_huge_join_is_stopped(desk: DocumentDesk) -> None:
    tables = tables_named(desk.collection, ["orders"])
    huge = "SELECT count(*) FROM " + ", ".join(f"orders o{i}" for i in range(8))
    with pytest.raises(ToolError, match=r"was stopped after|more memory than"):
        answered(tables, huge, seconds=1.5)
    sql = "SELECT max(hash(range)) FROM range(1000000000000)"
    began = time.monotonic()
    with pytest.raises(ToolError, match=r"was stopped after 1\.5 seconds"):
        answered(tables, sql, seconds=1.5)
    assert time.monotonic() - began < 10


def test_too_much_memory_is_refused(desk: DocumentDesk) -> None:
    with pytest.raises(ToolError, match=r"memory|sudden end|stopped"):
        query(desk, "SELECT repeat(repeat('x', 1000000), 3000) FROM orders")


def test_names_need_no_quotes() -> None:
    assert slug("Order", "x") == "order_"
    assert slug("2024 Umsatz (Mio. €)", "x") == "y2024_umsatz_mio"
    assert slug("3M", "x") == "c_3m"
    assert slug("…", "column_2") == "column_2"
    names = [column.name for column in columns_of(["a", "A", "", "_row"], [("x",) * 4])]
    assert names == ["a", "a_2", "column_3", "row"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(1,577)", "-1577"),
        ("$ 5,363", "5363"),
        ("12.5%", "12.5"),
        ("(8.1)%", "-8.1"),
        ("—", None),
        ("", None),
        ("n/a", None),
        ("Dec 31, 2022", None),
        ("1e3", "1E+3"),
        ("−4.5", "-4.5"),
    ],
)
def test_what_a_cell_prints(text: str, value: str | None) -> None:
    assert printed_number(text) == (None if value is None else Decimal(value))


def test_a_real_filing(tmp_path: Path) -> None:
    path = SHARED / "corpus" / "INTEL_2022Q4_EARNINGS.pdf"
    if not path.is_file():
        pytest.skip(f"{path} is missing (set DESKWORK_SHARED)")
    desk = DocumentDesk(Library(tmp_path / "home").collect([path]))
    name = "intel_2022q4_earnings_p10_1"
    result = query(desk, f"SELECT dec_31_2022 FROM {name} WHERE label = 'Depreciation'")
    assert result.data["rows"] == [["11128"]]
    assert result.data["origins"] == [
        [{"file": "INTEL_2022Q4_EARNINGS.pdf", "rows": [7], "pages": [10]}]
    ]
    assert f"{name} = INTEL_2022Q4_EARNINGS.pdf, page 10: (In Millions)" in result.text
