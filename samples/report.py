"""The annual report as PDF: text pages, three statements, and a page whose chart is a picture."""

from __future__ import annotations

import io
from typing import Any

import figures as f


def pdf() -> bytes:
    from reportlab.lib.pagesizes import LETTER
    from reportlab.platypus import SimpleDocTemplate

    buffer = io.BytesIO()
    document = SimpleDocTemplate(
        buffer,
        pagesize=LETTER,
        title="Halden Instruments, Inc. Annual Report, fiscal 2025",
        author="Halden Instruments, Inc.",
        invariant=1,  # no time stamps, no random ids
    )
    document.build(_story(), onFirstPage=_footer, onLaterPages=_footer)
    return buffer.getvalue()


def _footer(canvas: Any, document: Any) -> None:
    canvas.setFont("Helvetica", 8)
    canvas.drawCentredString(306, 36, f"Halden Instruments, Inc. · {document.page}")


def _story() -> list[Any]:
    from reportlab.platypus import PageBreak

    story: list[Any] = []
    for page in (
        _cover,
        _business,
        _risks,
        _discussion,
        _income,
        _balance,
        _cash,
        _segments,
        _chart,
    ):
        story += [*page(), PageBreak()]
    return story[:-1]


def _text(*paragraphs: str, heading: str = "") -> list[Any]:
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import Paragraph, Spacer

    styles = getSampleStyleSheet()
    parts: list[Any] = [Paragraph(heading, styles["Heading2"])] if heading else []
    for paragraph in paragraphs:
        parts += [Paragraph(paragraph, styles["BodyText"]), Spacer(1, 6)]
    return parts


def _table(head: tuple[str, ...], rows: list[tuple[str, f.Row]]) -> Any:
    """A statement: rows whose label begins with "=" are totals, with a line above."""
    from reportlab.lib import colors
    from reportlab.platypus import Table

    data = [list(head)]
    style: list[Any] = [
        ("ALIGN", (1, 0), (-1, -1), "RIGHT"),
        ("FONTNAME", (0, 0), (-1, 0), "Helvetica-Bold"),
        ("LINEBELOW", (0, 0), (-1, 0), 0.5, colors.black),
        ("TOPPADDING", (0, 0), (-1, -1), 2),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 2),
    ]
    for label, values in rows:
        if label.startswith("="):
            style.append(("LINEABOVE", (1, len(data)), (-1, len(data)), 0.5, colors.black))
        cells = [f.shown(value) for value in values]
        data.append([label.lstrip("="), *cells, *[""] * (len(head) - 1 - len(cells))])
    table = Table(data, colWidths=[250, *[70] * (len(head) - 1)], hAlign="LEFT")
    table.setStyle(style)
    return table


_YEARS = ("(In millions of dollars)", *map(str, f.YEARS))


def _cover() -> list[Any]:
    return _text(
        "Annual report for the fiscal year ended September 30, 2025",
        "Halden Instruments, Inc. makes instruments that measure the composition of liquids and "
        "gases, for chemical plants, water works, laboratories and makers of medicines.",
        "The company is fictional. This report is a sample for trying out Deskwork.",
        heading="Halden Instruments, Inc.",
    )


def _business() -> list[Any]:
    return _text(
        "Halden Instruments operates in three segments. Process Analytics sells analyzers that "
        "are built into plants. Laboratory Systems sells bench instruments and their software. "
        "Field Service maintains both under contracts of one to five years.",
        "At September 30, 2025 the company had 2,940 employees, of whom 610 worked in research "
        "and development. It sells in 41 countries; 46% of net sales came from outside the "
        "United States.",
        "The largest customer, a group of water utilities, accounted for 11% of net sales in "
        "fiscal 2025 and 9% in fiscal 2024. No other customer exceeded 10%.",
        "In February 2025 Halden acquired Merrow Optics for $22.0 million in cash, of which "
        "$13.0 million was recorded as goodwill.",
        heading="Business",
    )


def _risks() -> list[Any]:
    return _text(
        "<b>We depend on a single supplier for detector chips.</b> One foundry makes all the "
        "infrared detector chips of our Process Analytics segment. An interruption of more than "
        "eight weeks would stop deliveries of products that made up 38% of net sales.",
        "<b>The start of our new plant may be delayed or cost more than planned.</b> We are "
        "building a plant in Tromsdal with a total budget of $96.0 million. Delays would leave "
        "us without the capacity that our orders need.",
        "<b>Export controls may limit our sales.</b> Licenses for sales to customers in China, "
        "which made up 8% of net sales in fiscal 2025, can be withdrawn at short notice.",
        "<b>Our largest customer could buy less.</b> The contract with the group of water "
        "utilities that accounts for 11% of net sales ends in June 2027.",
        "<b>Exchange rates affect our results.</b> A rise of the dollar by 10% would have lowered "
        "operating income of fiscal 2025 by about $7.5 million, before hedges.",
        "<b>Attacks on our systems could interrupt our business</b> or reveal customers' data.",
        heading="Risk factors",
    )


def _discussion() -> list[Any]:
    analytics, laboratory = (
        f.growth(f.SEGMENT_SALES[name][0], f.SEGMENT_SALES[name][1])
        for name in ("Process Analytics", "Laboratory Systems")
    )
    return _text(
        f"Net sales rose {f.growth(f.SALES[0], f.SALES[1])} to ${f.SALES[0]} million in fiscal "
        f"2025, after {f.growth(f.SALES[1], f.SALES[2])} in fiscal 2024. Process Analytics grew "
        f"by {analytics} on demand from water works and battery makers; Laboratory Systems grew "
        f"by {laboratory}.",
        f"Gross margin was {f.percent(f.GROSS[0], f.SALES[0])} of net sales, against "
        f"{f.percent(f.GROSS[1], f.SALES[1])} in fiscal 2024 and "
        f"{f.percent(f.GROSS[2], f.SALES[2])} in fiscal 2023, because of higher prices and of a "
        "larger share of Process Analytics.",
        f"Operating margin rose to {f.percent(f.OPERATING[0], f.SALES[0])} from "
        f"{f.percent(f.OPERATING[1], f.SALES[1])}, as selling, general and administrative "
        "expenses grew more slowly than net sales.",
        f"Capital expenditures were ${-f.CAPEX[0]} million in fiscal 2025, or "
        f"{f.percent(-f.CAPEX[0], f.SALES[0])} of net sales, against ${-f.CAPEX[1]} million in "
        "fiscal 2024. Of these, $41.0 million went into the new plant in Tromsdal.",
        f"Net cash provided by operating activities was ${f.OPERATING_CASH[0]} million. Free cash "
        f"flow, which is that less capital expenditures, was ${f.OPERATING_CASH[0] + f.CAPEX[0]} "
        f"million, against ${f.OPERATING_CASH[1] + f.CAPEX[1]} million in fiscal 2024.",
        heading="Management's discussion and analysis",
    )


def _income() -> list[Any]:
    return [
        *_text("Fiscal years ended September 30", heading="Consolidated Statements of Income"),
        _table(
            _YEARS,
            [
                ("Net sales", f.SALES),
                ("Cost of sales", f.COST),
                ("=Gross profit", f.GROSS),
                ("Research and development", f.RESEARCH),
                ("Selling, general and administrative", f.SELLING),
                ("=Operating income", f.OPERATING),
                ("Interest expense", f.INTEREST),
                ("=Income before income taxes", f.BEFORE_TAX),
                ("Provision for income taxes", f.TAX),
                ("=Net income", f.NET),
                ("Diluted shares (millions)", f.SHARES),
            ],
        ),
        *_text(
            "Earnings per share, diluted: "
            + ", ".join(
                f"${value} in {year}" for value, year in zip(f.PER_SHARE, f.YEARS, strict=True)
            )
            + "."
        ),
    ]


def _balance() -> list[Any]:
    return [
        *_text("At September 30", heading="Consolidated Balance Sheets"),
        _table(
            _YEARS[:3],
            [
                ("Cash and cash equivalents", f.CASH_END[:2]),
                ("Accounts receivable", f.RECEIVABLES),
                ("Inventories", f.INVENTORIES),
                ("Other current assets", f.OTHER_CURRENT),
                ("=Total current assets", f.CURRENT_ASSETS),
                ("Property, plant and equipment, net", f.PLANT),
                ("Intangible assets, net", f.INTANGIBLES),
                ("Goodwill", f.GOODWILL),
                ("=Total assets", f.ASSETS),
                ("Accounts payable", f.PAYABLES),
                ("Accrued liabilities", f.ACCRUED),
                ("Current portion of long-term debt", f.CURRENT_DEBT),
                ("=Total current liabilities", f.CURRENT_LIABILITIES),
                ("Long-term debt", f.LONG_DEBT),
                ("Other liabilities", f.OTHER_LIABILITIES),
                ("=Total liabilities", f.LIABILITIES),
                ("Total shareholders' equity", f.EQUITY),
                ("=Total liabilities and equity", f.total(f.LIABILITIES, f.EQUITY)),
            ],
        ),
    ]


def _cash() -> list[Any]:
    return [
        *_text("Fiscal years ended September 30", heading="Consolidated Statements of Cash Flows"),
        _table(
            _YEARS,
            [
                ("Net income", f.NET),
                ("Depreciation and amortization", f.DEPRECIATION),
                ("Stock-based compensation", f.STOCK_PAY),
                ("Accounts receivable", f.RECEIVABLES_CHANGE),
                ("Inventories", f.INVENTORIES_CHANGE),
                ("Accounts payable", f.PAYABLES_CHANGE),
                ("=Net cash provided by operating activities", f.OPERATING_CASH),
                ("Purchases of property, plant and equipment", f.CAPEX),
                ("Acquisitions, net of cash acquired", f.ACQUISITIONS),
                ("=Net cash used in investing activities", f.INVESTING_CASH),
                ("Repayment of long-term debt", f.REPAYMENT),
                ("Dividends paid", f.DIVIDENDS),
                ("Repurchases of common stock", f.REPURCHASES),
                ("=Net cash used in financing activities", f.FINANCING_CASH),
                ("Net increase (decrease) in cash", f.CASH_CHANGE),
                ("Cash at beginning of year", f.CASH_START),
                ("=Cash at end of year", f.CASH_END),
            ],
        ),
    ]


def _segments() -> list[Any]:
    return [
        *_text("Fiscal years ended September 30", heading="Note 12. Segment information"),
        _table(
            ("Net sales (in millions)", *map(str, f.YEARS)),
            [*f.SEGMENT_SALES.items(), ("=Total net sales", f.SALES)],
        ),
        *_text(""),
        _table(
            ("Operating income (in millions)", *map(str, f.YEARS)),
            [
                *f.SEGMENT_INCOME.items(),
                ("Corporate", f.CORPORATE),
                ("=Total operating income", f.OPERATING),
            ],
        ),
    ]


def _chart() -> list[Any]:
    from reportlab.platypus import Image

    return [
        *_text("Backlog is shown in the chart below.", heading="Orders"),
        Image(io.BytesIO(_chart_png()), width=430, height=258),
    ]


def _chart_png() -> bytes:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.5), dpi=120)
    axes = figure.subplots()
    bars = axes.bar(list(f.BACKLOG), list(f.BACKLOG.values()), color="#2f6f8f")
    axes.bar_label(bars)
    axes.set_title("Backlog at the end of each quarter of fiscal 2025 (millions of dollars)")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
