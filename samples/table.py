"""The segment table as XLSX: net sales by quarter, and by year with operating income."""

from __future__ import annotations

import io

import figures as f
from packages import fixed


def xlsx() -> bytes:
    import openpyxl
    from openpyxl.styles import Font

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Quarters 2025"
    sheet.append(["Net sales, fiscal 2025, millions of dollars", "Q1", "Q2", "Q3", "Q4", "Year"])
    for name, quarters in f.QUARTERS.items():
        sheet.append([name, *map(float, quarters), float(sum(quarters))])
    columns = f.total(*f.QUARTERS.values())
    sheet.append(["Total", *map(float, columns), float(sum(columns))])
    years = book.create_sheet("Years")
    years.append(["Millions of dollars", *(f"Fiscal {year}" for year in f.YEARS)])
    for name, sales in f.SEGMENT_SALES.items():
        years.append([f"{name}, net sales", *map(float, sales)])
        years.append([f"{name}, operating income", *map(float, f.SEGMENT_INCOME[name])])
    for page in (sheet, years):
        page.column_dimensions["A"].width = 44
        for cell in page[1]:
            cell.font = Font(bold=True)
    buffer = io.BytesIO()
    book.save(buffer)
    return fixed(buffer.getvalue())
