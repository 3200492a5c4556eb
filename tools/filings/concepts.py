"""Concepts: what a person calls a figure, and the tags that companies file it under over time."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from deskwork.tools.errors import NotFound
from deskwork.tools.filings.facts import CompanyFacts

_GAAP = "us-gaap:"
_GROUPS: tuple[tuple[str, str], ...] = (
    # Names, then tags in the order in which they are taken; both taxonomies' own names.
    (
        "revenue, revenues, sales, net sales, net revenue, turnover, total revenue",
        "Revenues, RevenueFromContractWithCustomerExcludingAssessedTax, SalesRevenueNet, "
        "RevenueFromContractWithCustomerIncludingAssessedTax, SalesRevenueGoodsNet, "
        "ifrs-full:Revenue, ifrs-full:RevenueFromContractsWithCustomers",
    ),
    (
        "cost of revenue, cost of sales, cost of goods sold, cogs",
        "CostOfRevenue, CostOfGoodsAndServicesSold, CostOfGoodsSold, ifrs-full:CostOfSales",
    ),
    ("gross profit", "GrossProfit, ifrs-full:GrossProfit"),
    (
        "operating income, operating profit, operating loss, ebit",
        "OperatingIncomeLoss, ifrs-full:ProfitLossFromOperatingActivities",
    ),
    (
        "net income, net profit, net loss, profit, earnings",
        "NetIncomeLoss, ProfitLoss, ifrs-full:ProfitLossAttributableToOwnersOfParent, "
        "ifrs-full:ProfitLoss",
    ),
    (
        "eps, diluted eps, eps diluted, diluted earnings per share",
        "EarningsPerShareDiluted, EarningsPerShareBasicAndDiluted, "
        "ifrs-full:DilutedEarningsLossPerShare",
    ),
    (
        "basic eps, eps basic, basic earnings per share",
        "EarningsPerShareBasic, EarningsPerShareBasicAndDiluted, "
        "ifrs-full:BasicEarningsLossPerShare",
    ),
    (
        "diluted shares, weighted average diluted shares",
        "WeightedAverageNumberOfDilutedSharesOutstanding, ifrs-full:AdjustedWeightedAverageShares",
    ),
    (
        "shares outstanding, share count",
        "dei:EntityCommonStockSharesOutstanding, CommonStockSharesOutstanding",
    ),
    ("assets, total assets", "Assets, ifrs-full:Assets"),
    ("liabilities, total liabilities", "Liabilities, ifrs-full:Liabilities"),
    (
        "equity, shareholders equity, stockholders equity",
        "StockholdersEquity, "
        "StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest, "
        "ifrs-full:EquityAttributableToOwnersOfParent, ifrs-full:Equity",
    ),
    (
        "cash, cash and cash equivalents",
        "CashAndCashEquivalentsAtCarryingValue, ifrs-full:CashAndCashEquivalents",
    ),
    ("inventory, inventories", "InventoryNet, ifrs-full:Inventories"),
    ("long term debt, debt", "LongTermDebt, LongTermDebtNoncurrent, ifrs-full:Borrowings"),
    (
        "operating cash flow, cash flow from operations, cash from operations",
        "NetCashProvidedByUsedInOperatingActivities, "
        "NetCashProvidedByUsedInOperatingActivitiesContinuingOperations, "
        "ifrs-full:CashFlowsFromUsedInOperatingActivities",
    ),
    (
        "capex, capital expenditure, capital expenditures, capital spending",
        "PaymentsToAcquirePropertyPlantAndEquipment, PaymentsToAcquireProductiveAssets, ifrs-full:"
        "PurchaseOfPropertyPlantAndEquipmentClassifiedAsInvestingActivities",
    ),
    (
        "r&d, research and development",
        "ResearchAndDevelopmentExpense, "
        "ResearchAndDevelopmentExpenseExcludingAcquiredInProcessCost, "
        "ifrs-full:ResearchAndDevelopmentExpense",
    ),
    ("sg&a", "SellingGeneralAndAdministrativeExpense"),
    ("income tax, income taxes", "IncomeTaxExpenseBenefit"),
    ("interest expense", "InterestExpense, InterestExpenseNonoperating, ifrs-full:FinanceCosts"),
    (
        "dividends per share, dividend per share",
        "CommonStockDividendsPerShareDeclared, CommonStockDividendsPerShareCashPaid",
    ),
)
_CANDIDATES = 12


@dataclass(frozen=True)
class Concepts:
    """The concepts that answer a name, the first one first; ``note`` says what was taken for it."""

    names: tuple[str, ...]
    note: str = ""


def find_concepts(facts: CompanyFacts, wanted: str) -> Concepts:
    """The company's concepts under a name: ``taxonomy:tag`` alone, else a tag and its synonyms.

    Raises `NotFound` with what comes close.
    """
    have = facts.concepts
    text = wanted.strip()
    if ":" in text:
        found = [name for name in have if name.casefold() == text.casefold()]
        if found:
            return Concepts((found[0],))
        text = text.partition(":")[2]
        if not _named(have, text):
            raise _missing(facts, wanted)
        raise NotFound(
            f"{facts.name} has no facts under {wanted}.",
            f"It has {', '.join(_named(have, text))}.",
        )
    exact = _named(have, text)
    group = next((tags for names, tags in _TABLE if _folded(text) in names), ())
    held = [tag for tag in group if tag in have]
    names = tuple(dict.fromkeys([*exact, *held]))
    if not names:
        raise _missing(facts, wanted)
    note = ""
    if not exact and any(tag.partition(":")[2] == text for tag in group):
        note = f"{facts.name} files nothing under {text}; {names[0]} stands for the same."
    return Concepts(names, note)


def _named(have: Iterable[str], tag: str) -> list[str]:
    return [name for name in have if name.partition(":")[2].casefold() == tag.casefold()]


def _missing(facts: CompanyFacts, wanted: str) -> NotFound:
    words = [_folded(word) for word in re.findall(r"[A-Z]?[a-z&]+|[A-Z]+(?![a-z])|\d+", wanted)]
    texts = {name: _folded(f"{name} {label}") for name, label in facts.concepts.items()}
    ranked = sorted(texts, key=lambda name: (-sum(word in texts[name] for word in words), name))
    best = [name for name in ranked if any(word in texts[name] for word in words)]
    best = best or difflib.get_close_matches(wanted, texts, _CANDIDATES, 0.3)
    close = ", ".join(best[:_CANDIDATES])
    return NotFound(
        f"{facts.name} has no facts under {wanted!r}.",
        (f"Close: {close}. " if close else "")
        + "Facts of segments and tags of the company's own are not in this data: read the filing.",
    )


def _folded(text: str) -> str:
    return re.sub(r"[^a-z0-9&]", "", text.casefold())


def _whole(tag: str) -> str:
    return tag if ":" in tag else _GAAP + tag


_TABLE = tuple(
    (
        {_folded(name) for name in names.split(",")}
        | {_folded(tag.strip().partition(":")[2] or tag) for tag in tags.split(",")},
        tuple(_whole(tag.strip()) for tag in tags.split(",")),
    )
    for names, tags in _GROUPS
)
