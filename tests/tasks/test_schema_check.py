"""Schemas that would fail a job in the middle, and checks that would have no end."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from deskwork.tasks.schema import RecordSchema, load_schema
from deskwork.tools.errors import WrongUse


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ({"properties": {"a": {"$ref": "#/$defs/no"}}}, "'#/\\$defs/no' .* leads nowhere"),
        ({"properties": {"a": {"$ref": "http://x/y.json"}}}, "leads out of the file"),
        ({"properties": {"a": {"$ref": "other.json#/a"}}}, "leads out of the file"),
        ({"properties": {"a": {"$ref": "#/properties/a"}}}, "leads back to itself"),
        (
            {
                "properties": {"a": {"$ref": "#/$defs/b"}},
                "$defs": {"b": {"allOf": [{"$ref": "#/$defs/c"}]}, "c": {"$ref": "#/$defs/b"}},
            },
            "leads back to itself",
        ),
        ({"properties": {"total": {}}, "required": ["totl"]}, "'totl' .* is 'total' meant"),
        (
            {
                "properties": {
                    "a": {"type": "array", "items": {"properties": {"x": {}}, "required": ["y"]}}
                }
            },
            "required at /properties/a/items",
        ),
    ],
)
def test_a_schema_that_can_t_work_is_told_first(
    tmp_path: Path, schema: dict[str, Any], sentence: str
) -> None:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(schema))
    with pytest.raises(WrongUse, match=sentence):
        load_schema(str(path))


def test_a_tree_and_an_anchor_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    node = {
        "$anchor": "node",
        "properties": {"name": {}, "under": {"items": {"$ref": "#node"}, "type": "array"}},
    }
    path.write_text(
        json.dumps({"properties": {"tree": {"$ref": "#/$defs/n"}}, "$defs": {"n": node}})
    )
    schema = load_schema(str(path))
    assert schema.problems({"tree": {"name": "a", "under": [{"name": "b", "under": []}]}}) == []


def test_a_pattern_ends() -> None:
    schema = RecordSchema("s", {"properties": {"a": {"pattern": "^(a+)+$"}}})
    begun = time.monotonic()
    (problem,) = schema.problems({"a": "a" * 50_000 + "!"})
    assert time.monotonic() - begun < 2
    assert problem.startswith("/a: ")
    assert len(problem) < 400
    assert schema.problems({"a": "aaa"}) == []


def test_a_pattern_that_looks_ahead_is_tried_on_short_texts() -> None:
    schema = RecordSchema("s", {"properties": {"a": {"pattern": "^(?!0)\\d+$"}}})
    assert schema.problems({"a": "12"}) == []
    assert "does not match" in schema.problems({"a": "012"})[0]
    assert "too long" in schema.problems({"a": "1" * 1000})[0]


@pytest.mark.parametrize("error", ["KeyError('x')", "ZeroDivisionError()", "RecursionError()"])
def test_a_validator_that_fails_is_a_problem_of_the_record(tmp_path: Path, error: str) -> None:
    path = tmp_path / "shape.py"
    path.write_text(
        "from pydantic import BaseModel, field_validator\n\n"
        "class Bill(BaseModel):\n    total: float\n\n"
        "    @field_validator('total')\n    @classmethod\n"
        f"    def look(cls, value):\n        raise {error}\n"
    )
    (problem,) = load_schema(f"{path}:Bill").problems({"total": 1})
    assert "the schema's own check failed" in problem


def test_white_space_makes_no_other_schema_and_a_validator_does(tmp_path: Path) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    first.write_text('{"title": "X", "properties": {"a": {}, "b": {}}}')
    second.write_text('{\n "properties": {"b": {}, "a": {}}, "title": "X"}')
    assert load_schema(str(first)).canonical() == load_schema(str(second)).canonical()
    path = tmp_path / "shape.py"
    path.write_text("from pydantic import BaseModel\nclass B(BaseModel):\n    a: int\n")
    before = load_schema(f"{path}:B").canonical()
    path.write_text("from pydantic import BaseModel\nclass B(BaseModel):\n    a: int\n# other\n")
    assert load_schema(f"{path}:B").canonical() != before
