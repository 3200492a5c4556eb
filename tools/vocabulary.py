"""What questions about companies call things, and what filings call them.

A concept is recognised in a question by one of its ``asked`` phrases. It stands for ``groups`` of
terms: a page speaks of a group if it has any of the group's terms. ``statement`` names the primary
statements on which the concept's lines stand; ``elsewhere`` says that an answer is rather in the
discussion, the notes or a reconciliation. Phrases are compared after stemming, so that one
form of a word covers the others.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Concept:
    """One row of the table. Terms are alternatives, groups are all wanted."""

    asked: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...] = ()
    statement: tuple[str, ...] = ()
    elsewhere: bool = False


_SALES = ("revenue", "revenues", "net sales", "total revenues", "net revenues", "sales")
_COST = ("cost of sales", "cost of goods sold", "cost of revenue", "cost of products", "cost of")
_PPE = ("property plant and equipment", "property and equipment", "fixed assets")
_CAPEX = (
    "purchases of property",
    "capital expenditures",
    "additions to property",
    "payments for property",
    "expenditures for property",
    "acquisition of property",
    "purchase of property",
)
_RECEIVABLE = ("accounts receivable", "trade receivables", "receivables net", "receivables")
_PAYABLE = ("accounts payable", "trade payables")
_STOCK = ("inventories", "inventory", "merchandise inventories")
_CURRENT_ASSETS = ("total current assets", "current assets")
_CURRENT_LIABILITIES = ("total current liabilities", "current liabilities")
_CASH = ("cash and cash equivalents", "cash equivalents")
_DEBT = ("long term debt", "short term borrowings", "notes payable", "current portion of long term")
_OPERATING = (
    "operating income",
    "income from operations",
    "operating profit",
    "operating earnings",
)
_NET = ("net income", "net earnings", "net loss", "profit for the year", "net income attributable")
_DA = ("depreciation and amortization", "depreciation", "amortization")
_EQUITY = ("total equity", "shareholders equity", "stockholders equity", "shareowners equity")
_CFO = ("net cash provided by operating activities", "cash from operations", "operating activities")
_DIVIDENDS = ("dividends paid", "cash dividends", "payment of dividends", "dividends")
_BUYBACK = ("repurchases of common stock", "share repurchase", "stock repurchase", "treasury stock")
_GROSS = ("gross profit", "gross margin")
_INTEREST = ("interest expense", "finance costs")
_TAX = ("provision for income taxes", "income tax expense", "income taxes")

CONCEPTS: tuple[Concept, ...] = (
    # Statements named outright.
    Concept(
        (
            "income statement",
            "statement of income",
            "statement of operations",
            "statement of earnings",
            "statement of profit",
            "profit and loss statement",
            "p l statement",
        ),
        (),
        ("income",),
    ),
    Concept(
        ("balance sheet", "statement of financial position", "statement of financial condition"),
        (),
        ("balance",),
    ),
    Concept(
        (
            "cash flow statement",
            "statement of cash flow",
            "cash flows statement",
        ),
        (),
        ("cash",),
    ),
    # Income.
    Concept(("revenue", "net sales", "top line", "turnover", "sales"), (_SALES,), ("income",)),
    Concept(
        (
            "cogs",
            "cost of goods sold",
            "cost of sales",
            "cost of revenue",
        ),
        (_COST,),
        ("income",),
    ),
    Concept(("gross margin", "gross profit"), (_GROSS, _COST, _SALES), ("income",)),
    Concept(("operating margin", "ebit margin"), (_OPERATING, _SALES), ("income",)),
    Concept(("margin",), (("operating margin", *_GROSS, *_OPERATING), ("margins",)), ("income",)),
    Concept(("operating income", "operating profit", "ebit"), (_OPERATING,), ("income",)),
    Concept(("net margin", "net profit margin", "profit margin"), (_NET, _SALES), ("income",)),
    Concept(("net income", "net earnings", "net profit", "bottom line"), (_NET,), ("income",)),
    Concept(("ebitda",), (("ebitda",), _OPERATING, _DA), ("income", "cash")),
    Concept(
        ("eps", "earnings per share"),
        (("earnings per share", "income per share", "per share diluted"),),
        ("income",),
    ),
    Concept(
        ("sg a", "sga", "selling general and administrative"),
        (("selling general and administrative", "sg a", "general and administrative"),),
        ("income",),
    ),
    Concept(("r d", "research and development"), (("research and development",),), ("income",)),
    Concept(("interest coverage",), (_INTEREST, _OPERATING), ("income",)),
    Concept(("interest expense",), (_INTEREST,), ("income",)),
    Concept(
        ("effective tax rate", "tax rate"),
        (("effective tax rate", "effective income tax rate"), _TAX),
        ("income",),
    ),
    Concept(("income tax", "tax expense"), (_TAX,), ("income",)),
    # Cash flow.
    Concept(
        ("capex", "capital expenditure", "capital spending", "capital investment"),
        (_CAPEX,),
        ("cash",),
    ),
    Concept(("d a", "depreciation and amortization", "depreciation"), (_DA,), ("cash",)),
    Concept(
        ("free cash flow", "free cashflow", "fcf"),
        (("free cash flow", *_CFO), _CAPEX),
        ("cash",),
    ),
    Concept(
        (
            "operating cash flow",
            "cash from operations",
            "cash flow from operations",
            "operating activities",
            "investing activities",
            "financing activities",
        ),
        (_CFO, ("investing activities",), ("financing activities",)),
        ("cash",),
    ),
    Concept(("dividend", "payout ratio", "retention ratio"), (_DIVIDENDS,), ("cash",)),
    Concept(
        ("share repurchase", "stock repurchase", "buyback", "repurchased shares"),
        (_BUYBACK,),
        ("cash",),
    ),
    Concept(("stock based compensation", "share based compensation"), (), ("cash",)),
    # Balance sheet.
    Concept(
        ("pp e", "ppe", "ppne", "pp ne", "property plant and equipment", "fixed asset"),
        (_PPE,),
        ("balance",),
    ),
    Concept(("fixed asset turnover",), (_SALES, _PPE), ("income", "balance")),
    Concept(("asset turnover",), (_SALES, ("total assets",)), ("income", "balance")),
    Concept(("return on assets", "roa"), (_NET, ("total assets",)), ("income", "balance")),
    Concept(("return on equity", "roe"), (_NET, _EQUITY), ("income", "balance")),
    Concept(
        ("inventory turnover", "days inventory", "dio", "days of inventory"),
        (_STOCK, _COST),
        ("balance", "income"),
    ),
    Concept(("days payable", "dpo"), (_PAYABLE, _COST, _STOCK), ("balance", "income")),
    Concept(
        ("days sales outstanding", "days receivable", "dso", "receivables turnover"),
        (_RECEIVABLE, _SALES),
        ("balance", "income"),
    ),
    Concept(
        ("cash conversion cycle", "ccc"),
        (_STOCK, _RECEIVABLE, _PAYABLE, _COST),
        ("balance", "income"),
    ),
    Concept(
        ("working capital", "current ratio"), (_CURRENT_ASSETS, _CURRENT_LIABILITIES), ("balance",)
    ),
    Concept(
        ("quick ratio", "acid test", "liquidity profile"),
        (_CURRENT_ASSETS, _CURRENT_LIABILITIES, _STOCK, _CASH),
        ("balance",),
    ),
    Concept(("operating cash flow ratio",), (_CFO, _CURRENT_LIABILITIES), ("cash", "balance")),
    Concept(("total assets", "assets"), (("total assets",),), ("balance",)),
    Concept(("total liabilities", "liabilities"), (("total liabilities",),), ("balance",)),
    Concept(("current assets",), (_CURRENT_ASSETS,), ("balance",)),
    Concept(("current liabilities",), (_CURRENT_LIABILITIES,), ("balance",)),
    Concept(("inventory", "inventories"), (_STOCK,), ("balance",)),
    Concept(("accounts receivable", "receivables", "ar"), (_RECEIVABLE,), ("balance",)),
    Concept(("accounts payable", "payables"), (_PAYABLE,), ("balance",)),
    Concept(("cash and cash equivalents", "cash cash equivalents"), (_CASH,), ("balance",)),
    Concept(("debt", "borrowings", "leverage"), (("debt", *_DEBT),), ("balance",)),
    Concept(("debt to equity", "gearing"), (("debt", *_DEBT), _EQUITY), ("balance",)),
    Concept(("shareholders equity", "stockholders equity", "book value"), (_EQUITY,), ("balance",)),
    Concept(("goodwill",), (("goodwill",),), ("balance",)),
    Concept(("retained earnings",), (("retained earnings",),), ("balance",)),
    Concept(("deferred revenue", "unearned revenue"), (("deferred revenue", "unearned revenue"),)),
    Concept(
        ("capital intensive", "capital intensity"),
        (_CAPEX, _PPE, ("total assets",)),
        ("cash", "balance"),
    ),
    # Matters of the discussion and the notes.
    Concept(
        ("drove", "driven by", "driver", "drive", "why did", "reason", "explain", "due to"),
        (("due to", "driven by", "primarily", "attributable to", "as a result of", "reflecting"),),
        elsewhere=True,
    ),
    Concept(
        ("non gaap", "adjusted", "organic growth", "constant currency"),
        (("non gaap", "adjusted", "reconciliation", "organic", "constant currency"),),
        elsewhere=True,
    ),
    Concept(
        ("segment", "product category", "service category", "business line", "division"),
        (("segment", "segments", "reportable segments", "product category"),),
        elsewhere=True,
    ),
    Concept(
        ("region", "geography", "geographic", "country"),
        (("geographic", "region", "international", "united states"),),
        elsewhere=True,
    ),
    Concept(
        ("guidance", "outlook", "forecast", "expect"),
        (("guidance", "outlook", "expect", "forecast"),),
        elsewhere=True,
    ),
    Concept(
        ("risk", "risk factor"), (("risk factors", "risks", "adversely affect"),), elsewhere=True
    ),
    Concept(
        ("legal battle", "lawsuit", "litigation", "legal proceeding", "legal matter"),
        (("legal proceedings", "litigation", "lawsuits", "lawsuit", "contingencies"),),
        elsewhere=True,
    ),
    Concept(
        ("acquisition", "acquired", "merger", "takeover"),
        (("acquisition", "acquisitions", "business combination", "acquired"),),
        elsewhere=True,
    ),
    Concept(
        ("divestiture", "spin off", "disposal"),
        (("divestiture", "spin off", "divested"),),
        elsewhere=True,
    ),
    Concept(
        ("customer concentration", "primary customer", "major customer", "largest customer"),
        (("customers", "customer"), ("percent of revenues", "significant customer", "government")),
        elsewhere=True,
    ),
    Concept(
        ("industry", "main business", "what does", "primarily operate"),
        (("business", "global leader", "overview", "description of business", "company"),),
        elsewhere=True,
    ),
    Concept(("employee", "headcount", "workforce"), (("employees", "workforce", "human capital"),)),
    Concept(("restructuring",), (("restructuring", "severance", "workforce reduction"),)),
    Concept(
        ("lease", "operating lease"), (("operating lease", "right of use", "lease liability"),)
    ),
    Concept(
        ("pension", "retirement plan"),
        (("pension", "defined benefit", "postretirement", "projected benefit obligation"),),
    ),
    Concept(
        ("fx", "foreign exchange", "exchange rate", "currency"),
        (("foreign currency", "exchange rates", "foreign exchange", "currency"),),
    ),
    Concept(("backlog", "order book"), (("backlog", "remaining performance obligations"),)),
    Concept(
        ("securities registered", "debt securities", "national securities exchange"),
        (("registered pursuant to section 12", "name of each exchange", "trading symbol"),),
        elsewhere=True,
    ),
    Concept(
        ("shareholder vote", "agm", "annual meeting", "shareholder proposal", "nominee"),
        (("annual meeting", "shareholder proposal", "votes", "broker non votes"),),
        elsewhere=True,
    ),
)

# Words of English that carry no subject.
_ENGLISH = """
a about above after all also am an and any are as at be because been before being below between
both but by can could did do does doing down during each else few for from further had has have
having he her here him his how i if in into is it its itself just like me more most my no nor
not now of off on once only or other our out over own per same she should so some such than that
the their them then there these they this those through to too under until up upon us very was
we were what when where whether which while who whom whose why will with would you your
"""

# Words in which answers are asked for, whatever they are about.
_WORDING = """
according address among analyst answer answering ask asked asking assume based basing billion
billions calculate calculated clearly company compare compared conclusions decimal define
defined describe details drawing equities explain express extract find fiscal following fy give
given helps information item items judgments know known let line list looking major many metric
metrics million millions much name nearest needed number place places please primarily provide
provided public question questions related relevant rely relying reply report reported respond
response result round rounded show shown solely something state stated sum tell thousand
thousands unit units usd use used useful using utilize utilizing want year years yes
"""

STOP_WORDS = frozenset(_ENGLISH.split()) | frozenset(_WORDING.split())
