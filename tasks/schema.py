"""What a record must look like: a JSON Schema file, or a pydantic class by its import path."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
from jsonschema.validators import validator_for
from pydantic import BaseModel, ValidationError

from deskwork.tasks.bearing import Field
from deskwork.tasks.schema_check import faults_of, problems_by, shortened
from deskwork.tools.errors import WrongUse

_REFERENCES = 20
"""References to references that are followed; more is a circle."""
_HINT = "Give a JSON Schema file, or a pydantic class as `module:Class` or `file.py:Class`."


@dataclass(frozen=True)
class RecordSchema:
    """``source`` is what was given; ``schema`` the JSON Schema of one record, an object.

    Of a class ``code`` is its module's: its validators say more than the schema.
    """

    source: str
    schema: dict[str, Any]
    model: type[BaseModel] | None = field(default=None, compare=False, repr=False)
    code: str = field(default="", compare=False, repr=False)

    @property
    def title(self) -> str:
        """What a record is called: the schema's title, else the name of its file."""
        return str(self.schema.get("title") or Path(self.source).stem)

    def problems(self, record: Any) -> list[str]:
        """What is wrong with a record, as sentences that name the field; empty if nothing."""
        try:
            return self._problems(record)
        except Exception as error:  # noqa: BLE001  # validators are anybody's and raise anything
            detail = " ".join(str(error).split())[:120]
            name = type(error).__name__
            return [f"/: the schema's own check failed on this record ({name}: {detail})"]

    def _problems(self, record: Any) -> list[str]:
        if self.model is None:
            found = problems_by(self.schema, record)
            return [f"{_pointer(path)}: {sentence}" for path, sentence in found]
        try:
            self.model.model_validate(record)
        except ValidationError as error:
            rows = error.errors(include_url=False, include_input=False, include_context=False)
            return [f"{_pointer(row['loc'])}: {shortened(row['msg'])}" for row in rows]
        return []

    def canonical(self) -> str:
        """The schema as one text, whatever its white space; of a class, with its module's code."""
        text = json.dumps(self.schema, ensure_ascii=False, sort_keys=True)
        return text + self.code


def resolved(field: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """A field's own schema: a reference followed, an optional's one real form."""
    for _ in range(_REFERENCES):
        if "$ref" not in field:
            break
        where: Any = schema
        for part in str(field["$ref"]).lstrip("#").strip("/").split("/"):
            where = where.get(part, {}) if isinstance(where, dict) else {}
        field = where if isinstance(where, dict) else {}
    for name in ("anyOf", "oneOf"):
        forms = [f for f in field.get(name, ()) if isinstance(f, dict) and f.get("type") != "null"]
        if forms:
            return resolved(forms[0], schema)
    if isinstance(field.get("type"), list):
        kinds = [kind for kind in field["type"] if kind != "null"]
        field = {**field, "type": kinds[0] if kinds else "string"}
    return field


def field_at(schema: dict[str, Any], pointer: str) -> Field:
    """What the schema says of the field at a pointer of the record."""
    field, name = resolved(schema, schema), ""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        inner = field.get("properties", {}).get(key)
        if inner is None:
            inner = field.get("items") if key.isdigit() else field.get("additionalProperties")
        else:
            name = key
        if not isinstance(inner, dict):
            return Field(name)
        field = {"description": inner.get("description", ""), **resolved(inner, schema)}
    choices = field.get("enum", [field["const"]] if "const" in field else [])
    described = f"{field.get('title', '')} {field.get('description', '')}".strip()
    return Field(name, described, tuple(choices))


def load_schema(source: str) -> RecordSchema:
    """The schema that a person named. Raises `WrongUse` saying what is wrong with it."""
    if ":" in source and not Path(source).exists():
        return _from_class(source)
    path = Path(source)
    try:
        schema = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise WrongUse(f"The schema {source} can't be read: {error.strerror}.", _HINT) from None
    except ValueError as error:
        raise WrongUse(f"The schema {source} is no JSON: {error}.", _HINT) from None
    return RecordSchema(str(path.absolute()), _checked(schema, source))


def _checked(schema: Any, source: str) -> dict[str, Any]:
    if not isinstance(schema, dict):
        raise WrongUse(f"The schema {source} is no JSON object.", _HINT)
    try:
        validator_for(schema, jsonschema.Draft202012Validator).check_schema(schema)
    except jsonschema.SchemaError as error:
        where = _pointer(error.absolute_path)
        raise WrongUse(
            f"The schema {source} is wrong at {where}: {error.message}.", _HINT
        ) from None
    if schema.get("type", "object") != "object" or not schema.get("properties"):
        raise WrongUse(
            f"The schema {source} describes no record with fields.",
            'It needs "type": "object" and "properties"; a list of lines is a field of type array.',
        )
    if fault := faults_of(schema):
        raise WrongUse(f"The schema {source} is wrong: {fault}.", "Mend it, then run this again.")
    return schema


def _from_class(source: str) -> RecordSchema:
    name, _, attribute = source.rpartition(":")
    try:
        module = _module(name)
        found = getattr(module, attribute)
    except (ImportError, AttributeError, OSError, SyntaxError) as error:
        raise WrongUse(f"The schema {source} can't be loaded: {error}.", _HINT) from None
    if not (isinstance(found, type) and issubclass(found, BaseModel)):
        raise WrongUse(f"The schema {source} is no pydantic class.", _HINT)
    where = f"{Path(name).absolute()}:{attribute}" if name.endswith(".py") else source
    try:
        code = Path(str(module.__file__)).read_text(encoding="utf-8", errors="replace")
    except (AttributeError, OSError):
        code = ""
    return RecordSchema(where, _checked(found.model_json_schema(), source), found, code)


def _module(name: str) -> Any:
    if not name.endswith(".py"):
        # As with tools: modules of the current folder count, wherever the command is installed.
        if str(Path.cwd()) not in sys.path:
            sys.path.insert(0, str(Path.cwd()))
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(Path(name).stem, name)
    if spec is None or spec.loader is None:
        raise ImportError(f"{name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _pointer(path: Any) -> str:
    return "/" + "/".join(str(part) for part in path)
