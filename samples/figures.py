"""The figures of Halden Instruments, a company that doesn't exist. Millions of US dollars.

Each row holds fiscal 2025, 2024 and 2023. Totals are computed and the statements tie: cash of the
cash flow statement is the balance sheet's, and assets equal liabilities and equity.
"""

from __future__ import annotations

from decimal import Decimal

Row = tuple[Decimal, ...]


def row(*values: str) -> Row:
    return tuple(Decimal(value) for value in values)


def total(*rows: Row) -> Row:
    return tuple(sum(column, Decimal(0)) for column in zip(*rows, strict=True))


def minus(values: Row) -> Row:
    return tuple(-value for value in values)


YEARS = (2025, 2024, 2023)

SEGMENT_SALES = {
    "Process Analytics": row("398.4", "352.0", "321.7"),
    "Laboratory Systems": row("276.1", "267.9", "259.3"),
    "Field Service": row("168.1", "161.4", "154.9"),
}
SEGMENT_INCOME = {
    "Process Analytics": row("81.9", "62.1", "51.0"),
    "Laboratory Systems": row("36.4", "34.0", "32.8"),
    "Field Service": row("34.0", "29.9", "27.3"),
}
CORPORATE = row("-12.1", "-13.5", "-13.9")

SALES = total(*SEGMENT_SALES.values())
COST = row("-488.7", "-464.1", "-444.5")
GROSS = total(SALES, COST)
RESEARCH = row("-71.4", "-66.8", "-61.2")
SELLING = row("-142.3", "-137.9", "-133.0")
OPERATING = total(GROSS, RESEARCH, SELLING)
INTEREST = row("-9.8", "-11.4", "-12.1")
BEFORE_TAX = total(OPERATING, INTEREST)
TAX = row("-28.7", "-22.2", "-18.7")
NET = total(BEFORE_TAX, TAX)
SHARES = row("50.1", "50.6", "51.0")
PER_SHARE = tuple(round(net / shares, 2) for net, shares in zip(NET, SHARES, strict=True))

DEPRECIATION = row("38.2", "36.0", "34.9")
STOCK_PAY = row("12.4", "11.0", "10.1")
RECEIVABLES_CHANGE = row("-9.3", "-6.2", "-5.0")
INVENTORIES_CHANGE = row("-14.6", "-3.1", "-8.8")
PAYABLES_CHANGE = row("6.0", "2.5", "1.9")
OPERATING_CASH = total(
    NET, DEPRECIATION, STOCK_PAY, RECEIVABLES_CHANGE, INVENTORIES_CHANGE, PAYABLES_CHANGE
)
CAPEX = row("-64.8", "-47.1", "-41.6")
ACQUISITIONS = row("-22.0", "0", "0")
INVESTING_CASH = total(CAPEX, ACQUISITIONS)
REPAYMENT = row("-25.0", "-20.0", "-20.0")
DIVIDENDS = row("-18.1", "-16.2", "-15.3")
REPURCHASES = row("-12.0", "-10.0", "-8.0")
FINANCING_CASH = total(REPAYMENT, DIVIDENDS, REPURCHASES)
CASH_CHANGE = total(OPERATING_CASH, INVESTING_CASH, FINANCING_CASH)
CASH_START = row("128.4", "102.6", "88.0")
CASH_END = total(CASH_START, CASH_CHANGE)

# Balance sheet: fiscal 2025 and 2024 only.
RECEIVABLES = row("138.2", "128.9")
INVENTORIES = row("121.7", "107.1")
OTHER_CURRENT = row("18.4", "18.4")
CURRENT_ASSETS = total(CASH_END[:2], RECEIVABLES, INVENTORIES, OTHER_CURRENT)
PLANT = row("305.4", "268.3")
INTANGIBLES = row("59.5", "61.0")
GOODWILL = row("153.0", "140.0")
ASSETS = total(CURRENT_ASSETS, PLANT, INTANGIBLES, GOODWILL)
PAYABLES = row("74.3", "68.3")
ACCRUED = row("52.0", "52.0")
CURRENT_DEBT = row("25.0", "25.0")
CURRENT_LIABILITIES = total(PAYABLES, ACCRUED, CURRENT_DEBT)
LONG_DEBT = row("155.0", "180.0")
OTHER_LIABILITIES = row("40.8", "40.8")
LIABILITIES = total(CURRENT_LIABILITIES, LONG_DEBT, OTHER_LIABILITIES)
EQUITY = row("570.0", "486.0")

# Net sales of fiscal 2025 by quarter, for each segment.
QUARTERS = {
    "Process Analytics": row("93.2", "97.6", "101.5", "106.1"),
    "Laboratory Systems": row("67.4", "68.9", "69.3", "70.5"),
    "Field Service": row("40.9", "41.8", "42.4", "43.0"),
}
# Orders not yet delivered at the end of each quarter; shown in the report's chart alone.
BACKLOG = {"Q1": 212, "Q2": 226, "Q3": 241, "Q4": 268}

assert total(LIABILITIES, EQUITY) == ASSETS
assert CASH_END[1:] == CASH_START[:2]
assert total(*SEGMENT_INCOME.values(), CORPORATE) == OPERATING
assert all(sum(QUARTERS[name]) == SEGMENT_SALES[name][0] for name in QUARTERS)


def shown(value: Decimal) -> str:
    """As filings show figures: one decimal, losses and outflows in brackets, a dash for none."""
    if not value:
        return "—"
    return f"({-value:,.1f})" if value < 0 else f"{value:,.1f}"


def percent(part: Decimal, whole: Decimal) -> str:
    return f"{100 * part / whole:.1f}%"


def growth(new: Decimal, old: Decimal) -> str:
    return f"{100 * (new - old) / old:.1f}%"
