"""The memo as DOCX: the chief financial officer on capital spending."""

from __future__ import annotations

import datetime
import io

import figures as f
from packages import fixed

_DATE = datetime.datetime(2025, 11, 14, 9, 0)


def docx_bytes() -> bytes:
    import docx

    memo = docx.Document()
    properties = memo.core_properties
    properties.title, properties.author = "Capital spending, fiscal 2025 and 2026", "Ingrid Vale"
    properties.created = properties.modified = _DATE
    memo.add_heading("Capital spending, fiscal 2025 and 2026", 1)
    memo.add_paragraph("From: Ingrid Vale, Chief Financial Officer. November 14, 2025.")
    memo.add_heading("What was spent", 2)
    memo.add_paragraph(
        f"Capital spending came to ${-f.CAPEX[0]} million in fiscal 2025, "
        f"{f.growth(-f.CAPEX[0], -f.CAPEX[1])} more than in fiscal 2024. The plant in Tromsdal "
        "took $41.0 million; $55.0 million of its budget of $96.0 million remains."
    )
    table = memo.add_table(rows=1, cols=3)
    table.rows[0].cells[0].text = "Millions of dollars"
    table.rows[0].cells[1].text = "Fiscal 2025"
    table.rows[0].cells[2].text = "Fiscal 2026 plan"
    for label, spent, planned in (
        ("Tromsdal plant", "41.0", "38.0"),
        ("Other plants", "15.3", "10.5"),
        ("Software and tools", "8.5", "7.5"),
        ("Total", "64.8", "56.0"),
    ):
        cells = table.add_row().cells
        cells[0].text, cells[1].text, cells[2].text = label, spent, planned
    memo.add_heading("What is planned", 2)
    memo.add_paragraph(
        "For fiscal 2026 we plan $56.0 million. The plant should start in the third quarter of "
        "fiscal 2026; each month of delay costs about $1.8 million of gross profit."
    )
    memo.add_heading("What could go wrong", 2)
    memo.add_paragraph(
        "The supply of detector chips rests on one foundry. A second source is being qualified "
        "and will not deliver before the end of fiscal 2026.",
        style="List Bullet",
    )
    memo.add_paragraph(
        "Steel and electrical work are contracted at fixed prices for 70% of the remaining "
        "budget; the rest follows the market.",
        style="List Bullet",
    )
    buffer = io.BytesIO()
    memo.save(buffer)
    return fixed(buffer.getvalue())
