"""What reading costs: CPU against pypdf, pages a second through the process apart, peak memory.

Run: python -m benchmarks.readers [--files FOLDER]

The rows, each with what must hold:
- CPU to read 3M_2018_10K.pdf, text with word boxes, over pypdf's plain text: at most 1/6
- the same filing read in the process apart and given back: at least 25 pages a second
- small files one after another, read apart: no bound, the worker is kept between them
- peak memory of the process that reads the 400-page file: under 300 MB
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.steps import row
from deskwork.tools.readers import inside, read, read_bytes
from deskwork.tools.readers.source import Source

_SHARED = Path(os.environ.get("DESKWORK_SHARED", Path(__file__).parents[2] / "shared"))
_PEAK = """
import resource, sys
from pathlib import Path
from deskwork.tools.readers import inside
from deskwork.tools.readers.source import Source
path = Path(sys.argv[1])
inside.read(Source(path.name, "", path.read_bytes())).to_json(boxes=True)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def cpu() -> float:
    """CPU seconds of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=Path, default=_SHARED / "corpus")
    folder = parser.parse_args().files
    filing = folder / "3M_2018_10K.pdf"
    data = filing.read_bytes()

    started = cpu()
    document = inside.read(Source(filing.name, "", data))
    ours = cpu() - started
    words = sum(len(page.boxes) for page in document.pages)

    import pypdf

    started = cpu()
    for page in pypdf.PdfReader(filing).pages:
        page.extract_text()
    theirs = cpu() - started
    print(f"CPU: {ours:.2f} s with {words:,} word boxes, pypdf's plain text {theirs:.2f} s")
    row("CPU against pypdf", ours / theirs, "at most 0.17")

    read_bytes(b"warm", "warm.txt")
    began = time.monotonic()
    pages = len(read(filing).pages)
    took = time.monotonic() - began
    row("pages a second, read apart", pages / took, "at least 25")

    began = time.monotonic()
    for number in range(300):
        read_bytes(f"Invoice {number}".encode(), f"{number}.txt")
    row("small files a second, read apart", 300 / (time.monotonic() - began), "-")

    large = folder / "pdf2image-memory-error-test-400p.pdf"
    peak = subprocess.run(
        [sys.executable, "-P", "-c", _PEAK, str(large)], capture_output=True, check=True
    )
    row("peak memory on 400 pages, MB", int(peak.stdout) / 1024, "under 300")


if __name__ == "__main__":
    main()
