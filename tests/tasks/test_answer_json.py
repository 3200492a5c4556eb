"""What a model's answer may hold, and what is refused with a sentence."""

from __future__ import annotations

import time

import pytest

from deskwork.tasks.answer_json import answer_object


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"a": 1e999}', "too large"),
        ('{"a": -1e999}', "too large"),
        ('{"a": NaN}', "is no number"),
        ('{"a": {"b": Infinity}}', "is no number"),
        ('{"a": ' + "9" * 5000 + "}", "5,000 digits"),
        ('{"a": "\\ud800"}', "half a character"),
        ('{"\\udc00": 1}', "half a character"),
        ('{"a": ' + "[" * 900 + "]" * 900 + "}", "more than 40 deep"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "more than 40 deep"),
        ("[" * 20_000, "no JSON object"),
        ("{" * 100_000, "no JSON object"),
        ("I can't.", "no JSON object"),
    ],
)
def test_what_no_record_can_hold_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        answer_object(text)


def test_words_around_the_object_and_pairs_of_surrogates_are_fine() -> None:
    text = 'Here {it} is:\n```json\n{"a": [1.5, "\\ud83d\\ude00", 12]}\n```'
    assert answer_object(text) == {"a": [1.5, "😀", 12]}


def test_half_an_answer_takes_no_time() -> None:
    begun = time.monotonic()
    with pytest.raises(ValueError, match="deep"):
        answer_object('{"a": ' * 20_000)
    assert time.monotonic() - begun < 2
