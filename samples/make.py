"""Makes the sample files: a fictional company's annual report, a memo and a segment table.

Run: ``python samples/make.py DIR``. The same bytes come out every time, so that what is made of
them can be compared. Figures are in ``figures.py``, where the totals are computed, not typed.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import memo
import report
import table


def make(folder: Path) -> list[Path]:
    """Write the three files into the folder, which is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {
        "Halden_Instruments_2025_Annual_Report.pdf": report.pdf(),
        "Capital_Spending_Memo.docx": memo.docx_bytes(),
        "Segments_by_Quarter.xlsx": table.xlsx(),
    }
    paths = []
    for name, data in made.items():
        path = folder / name
        path.write_bytes(data)
        paths.append(path)
    return paths


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python samples/make.py DIR")
    for made_path in make(Path(sys.argv[1])):
        print(made_path)
