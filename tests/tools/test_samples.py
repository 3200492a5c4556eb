import subprocess
import sys
from pathlib import Path

from deskwork.tools.library import Library

MAKE = Path(__file__).parents[2] / "samples" / "make.py"
QUESTION = (
    "How did Halden Instruments' revenue, margins and capital spending develop in fiscal 2025, "
    "and what are the main risks?"
)


def make(folder: Path) -> list[bytes]:
    subprocess.run([sys.executable, str(MAKE), str(folder)], check=True, capture_output=True)
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def test_the_samples_are_the_same_every_time_and_answer_the_demo_question(tmp_path: Path) -> None:
    first = make(tmp_path / "one")
    assert first == make(tmp_path / "two")
    collection = Library(tmp_path / "home").collect([tmp_path / "one"])
    assert [(file.state, file.kind) for file in collection.files] == [
        ("ready", "docx"),
        ("ready", "pdf"),
        ("ready", "xlsx"),
    ]
    report = collection.files[1]
    found = {hit.page for hit in collection.search(QUESTION) if hit.file == report.name}
    assert {3, 4, 5, 7} <= found  # risks, discussion, income, cash flows
    for page, quote in (
        (4, "Gross margin was 42.0% of net sales"),
        (5, "Net sales 842.6 781.3 735.9"),
        (7, "Purchases of property, plant and equipment (64.8) (47.1) (41.6)"),
        (3, "We depend on a single supplier for detector chips."),
    ):
        assert collection.find_quote(report.name, page, quote).page == page
    # The chart's figures are in its picture alone.
    assert "268" not in collection.page(report.name, 9).text
    assert len(collection.picture(report.name, 9)) > 10_000
