from pathlib import Path

import pytest

from deskwork.tasks.settings import load_settings
from deskwork.tools.errors import BadFile, WrongUse
from deskwork.tools.library import Library
from deskwork.tools.readers import Limits, Reading
from tests.tools.made import pdf


def test_limits_and_passwords_come_from_the_file(tmp_path: Path) -> None:
    Path("deskwork.toml").write_text(
        'passwords = ["one", "two"]\n[reading]\nseconds = 9\nocr = true\n'
    )
    assert load_settings().reading == Reading(("one", "two"), Limits(seconds=9), ocr=True)
    assert "one" not in repr(load_settings().reading)


@pytest.mark.parametrize(
    "text",
    ['passwords = "one"', "[reading]\nsecond = 9", "[reading]\nseconds = 0", "[reading]\nocr = 3"],
)
def test_what_is_wrong_in_them_is_told(text: str) -> None:
    Path("deskwork.toml").write_text(text)
    with pytest.raises(WrongUse, match=r"deskwork\.toml"):
        load_settings()


def test_a_collection_opens_locked_files_with_the_passwords(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf([["Secret figure 12"]], password="two"))
    reading = Reading(("one", "two"))
    collection = Library(tmp_path / "home", reading).collect([path])
    assert collection.page("a.pdf", 1).text == "Secret figure 12"
    assert collection.picture("a.pdf", 1).startswith(b"\x89PNG")
    without = Library(tmp_path / "other").collect([path])
    assert "is locked" in without.files[0].reason
    with pytest.raises(BadFile):
        Reading().read(path.read_bytes(), "a.pdf")
