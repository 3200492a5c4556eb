"""What a JSON Schema must be to describe records, and checking by it in bounded time.

A reference that leads nowhere, out of the file or back to itself would be found in the middle of
a job; it is found before one. Patterns are tried by an engine that takes time by the text's
length alone, so that ``^(a+)+$`` ends.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import jsonschema
from jsonschema import validators
from jsonschema.validators import validator_for
from pydantic_core import SchemaError, SchemaValidator, ValidationError, core_schema

_BACKTRACKED = 200
"""Characters that a pattern with look-ahead or back references is tried on, at most."""
_SENTENCE = 300
"""Characters of a problem, at most: a checker quotes the whole value, which may be long."""
_IN_PLACE = ("allOf", "anyOf", "oneOf")
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")


def problems_by(schema: dict[str, Any], record: Any) -> list[tuple[list[Any], str]]:
    """(path, sentence) of everything that keeps a record from fitting a schema."""
    checker = validator_for(schema, jsonschema.Draft202012Validator)
    extend: Any = validators.extend  # its stub has no types
    bounded = extend(checker, {"pattern": _pattern, "patternProperties": _by_pattern})
    validator = bounded(schema, format_checker=checker.FORMAT_CHECKER)
    found = sorted(validator.iter_errors(record), key=lambda error: list(map(str, error.path)))
    return [(list(error.absolute_path), shortened(error.message)) for error in found]


def shortened(sentence: str) -> str:
    """A sentence of bounded length."""
    if len(sentence) <= _SENTENCE:
        return sentence
    return f"{sentence[: _SENTENCE // 2]} ... {sentence[-_SENTENCE // 2 :]}"


def _pattern(
    _validator: Any, pattern: str, value: Any, _schema: Any
) -> Iterator[jsonschema.ValidationError]:
    if not isinstance(value, str):
        return
    fits = _fits(pattern, value)
    if fits is None:
        yield jsonschema.ValidationError(
            f"{value[:60]!r}... is too long for the pattern {pattern!r} to be tried on it"
        )
    elif not fits:
        yield jsonschema.ValidationError(f"{value!r} does not match {pattern!r}")


def _by_pattern(
    validator: Any, patterns: dict[str, Any], value: Any, _schema: Any
) -> Iterator[jsonschema.ValidationError]:
    for pattern, inner in patterns.items() if isinstance(value, dict) else ():
        for name, item in value.items():
            if _fits(pattern, name):
                yield from validator.descend(item, inner, path=name, schema_path=pattern)


def _fits(pattern: str, text: str) -> bool | None:
    """Whether a pattern is found in a text; None where that can't be told in bounded time."""
    linear = _linear(pattern)
    if linear is None:
        return bool(re.search(pattern, text)) if len(text) <= _BACKTRACKED else None
    try:
        linear.validate_python(text)
    except ValidationError:
        return False
    return True


@lru_cache(maxsize=256)
def _linear(pattern: str) -> SchemaValidator | None:
    """The pattern in pydantic's engine, which never goes back; None where it can't be said so."""
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern))
    except SchemaError:
        return None


def faults_of(schema: dict[str, Any]) -> str:
    """What is wrong with a schema's references and required fields; "" if nothing is."""
    anchors = {node["$anchor"] for _, node in _nodes(schema) if "$anchor" in node}
    for where, node in _nodes(schema):
        reference = node.get("$ref")
        if isinstance(reference, str):
            if not reference.startswith("#"):
                return f"the reference {reference!r} at {where} leads out of the file"
            if reference[1:] not in anchors and _target(schema, reference) is None:
                return f"the reference {reference!r} at {where} leads nowhere"
            if _comes_back(schema, node):
                return f"the reference {reference!r} at {where} leads back to itself"
        if fault := _required_fault(where, node):
            return fault
    return ""


def _required_fault(where: str, node: dict[str, Any]) -> str:
    """A required field that is not among an object's own, where they are all it has."""
    fields, required = node.get("properties"), node.get("required")
    if not isinstance(fields, dict) or not isinstance(required, list) or not fields:
        return ""
    if any(name in node for name in (*_IN_PLACE, "patternProperties", "$ref")):
        return ""
    for name in required:
        if name not in fields:
            close = difflib.get_close_matches(str(name), fields, 1)
            meant = f"; is {close[0]!r} meant?" if close else ""
            return f"{name!r} is required at {where}, but is not among the properties{meant}"
    return ""


def _nodes(schema: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """(JSON pointer, schema) of every schema in a schema."""
    if not isinstance(schema, dict):
        return
    yield where or "/", schema
    for name, inner in schema.items():
        if name in _MAPS and isinstance(inner, dict):
            for field, item in inner.items():
                yield from _nodes(item, f"{where}/{name}/{field}")
        elif name in ("enum", "const", "default", "examples", "example"):
            continue  # values, not schemas, even where they look like one
        elif isinstance(inner, dict):
            yield from _nodes(inner, f"{where}/{name}")
        elif isinstance(inner, list):
            for number, item in enumerate(inner):
                yield from _nodes(item, f"{where}/{name}/{number}")


def _target(schema: Any, reference: str) -> Any:
    for part in reference[1:].strip("/").split("/") if reference[1:].strip("/") else ():
        name = part.replace("~1", "/").replace("~0", "~").replace("%25", "%")
        if isinstance(schema, list):
            schema = schema[int(name)] if name.isdigit() and int(name) < len(schema) else None
        else:
            schema = schema.get(name) if isinstance(schema, dict) else None
    return schema


def _comes_back(schema: dict[str, Any], node: dict[str, Any]) -> bool:
    """Whether following a node's references, all for the same value, comes to the node again."""
    seen: set[int] = set()
    todo = [node]
    while todo:
        for following in _same_value(schema, todo.pop()):
            if following is node:
                return True
            if id(following) not in seen:
                seen.add(id(following))
                todo.append(following)
    return False


def _same_value(schema: dict[str, Any], node: dict[str, Any]) -> Iterable[dict[str, Any]]:
    found = [_target(schema, node["$ref"])] if isinstance(node.get("$ref"), str) else []
    for name in _IN_PLACE:
        found += node[name] if isinstance(node.get(name), list) else []
    return [item for item in found if isinstance(item, dict)]
