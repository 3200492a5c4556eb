import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deskwork.tools.quotes import closest, find, fold, is_line, too_short

WORDS = st.lists(
    st.sampled_from(
        [
            "Net",
            "sales",
            "842.6",
            "(1,577)",
            "“quoted”",
            "we’ve",
            "long–term",
            "ﬁrst",
            "café",
            "7.8%",
        ]
    ),
    min_size=3,
    max_size=25,
)
GAPS = st.sampled_from([" ", "\n", "  ", "\u00a0", " \n "])
SWAPS = {"’": "'", "“": '"', "”": '"', "–": "-", "ﬁ": "fi", "é": "e\u0301", "\u00a0": " "}


@settings(deadline=None)
@given(WORDS, st.data())
def test_what_is_only_written_differently_is_found_and_comes_back_in_the_sources_words(
    words: list[str], data: st.DataObject
) -> None:
    page = words[0] + "".join(data.draw(GAPS) + word for word in words[1:])
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    quote = data.draw(GAPS).join(words[first : last + 1])
    for old, new in SWAPS.items():
        if data.draw(st.booleans()):
            quote = quote.replace(old, new)
    place = find(page, quote)
    assert place is not None
    own = page[place.start : place.end]
    assert own.split() == words[first : last + 1]
    assert place.folded == fold(own).text


@settings(deadline=None)
@given(st.text(max_size=80))
def test_folding_is_stable_and_its_offsets_lie_in_the_text(text: str) -> None:
    folded = fold(text)
    assert fold(folded.text).text == folded.text
    assert len(folded.offsets) == len(folded.text)
    assert list(folded.offsets) == sorted(folded.offsets)
    assert all(0 <= offset < len(text) for offset in folded.offsets)


@pytest.mark.parametrize(
    ("page", "quote"),
    [
        ("Purchases were 1,577 in all", "577 in all"),
        ("a total of 12,345,678 dollars", "12,345"),
        ("rose by 7.85 percent", "rose by 7.8"),
        ("unprofitable segments", "profitable segments"),
        ("Net sales fell", "Net sales rose"),
        ("NET SALES ROSE", "net sales rose"),
        ("a loss of (500) million", "a loss of -500 million"),
    ],
)
def test_other_words_figures_and_parts_of_them_are_not_found(page: str, quote: str) -> None:
    assert find(page, quote) is None


def test_a_hyphen_at_a_line_end_may_be_written_or_not() -> None:
    page = "a non\u00adnormal event and a manu\u00adfacturer"
    assert find(page, "a non-normal event")
    assert find(page, "and a manufacturer")


def test_too_short_quotes() -> None:
    assert too_short("net sales")
    assert too_short("5")
    assert not too_short("842.6")
    assert not too_short("net sales rose")
    assert not too_short("会社名：株式会社テスト")
    assert not too_short("회사명: 주식회사")
    assert too_short("会社")


def test_a_whole_line() -> None:
    page = "Report\nGroup  alpha\nGroup alpha and beta\n"
    assert is_line(page, "Group alpha")
    assert not is_line(page, "Group")
    assert not is_line(page, "  ")


def test_the_closest_passage() -> None:
    page = "The company has 2,940 employees. Net sales rose 7.8% to $842.6 million in fiscal 2025."
    assert closest(page, "Net sales rose by 8% to $842.6 million").startswith(
        "Net sales rose 7.8% to"
    )
    assert closest(page, "quantum chromodynamics lattice") == ""
