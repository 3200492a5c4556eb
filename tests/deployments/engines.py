"""What the inference engines' own sources say: their flags, with choices, and their metrics.

``python -m tests.deployments.engines FOLDER`` reads the sources and writes
``deployments/serving/flags.json`` and ``deployments/watching/metrics.json``. FOLDER holds the
wheels of vllm, sglang and sglang-router (``pip download --no-deps``). The sources
are read as syntax and never imported: they want a GPU and several gigabytes.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DEPLOYMENTS = Path(__file__).parents[2] / "deployments"
_METRIC = re.compile(r"(vllm|sglang):[a-z][a-z0-9_]*")
_REGISTRIES = {
    "--tool-call-parser": re.compile(r"(_TOOL_PARSERS_TO_REGISTER|ToolCallParserEnum)\b"),
    "--reasoning-parser": re.compile(r"(_REASONING_PARSERS_TO_REGISTER|REASONING_PARSER_NAMES)\b"),
}
# Of the DCGM exporter's default-counters.csv (NVIDIA/dcgm-exporter, etc/), which is no package.
_DCGM = {
    "DCGM_FI_DEV_FB_FREE": "gauge",  # MiB
    "DCGM_FI_DEV_FB_USED": "gauge",  # MiB
    "DCGM_FI_DEV_GPU_TEMP": "gauge",  # degrees Celsius
    "DCGM_FI_DEV_GPU_UTIL": "gauge",  # percent
    "DCGM_FI_DEV_POWER_USAGE": "gauge",  # watts
    "DCGM_FI_DEV_XID_ERRORS": "gauge",  # the last XID
}
# Where each package declares what its command accepts.
_PARSERS = {
    "vllm": ("vllm/engine/arg_utils.py", "vllm/entrypoints/common/cli_args.py"),
    "sglang": ("sglang/srt/server_args.py", "sglang/srt/arg_groups/fields/"),
    "sglang-router": ("sglang_router/router_args.py", "sglang_router/launch_router.py"),
}


def _text(node: ast.AST) -> str | None:
    """A literal, or an f-string whose only hole is the router's optional prefix."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(v.value) for v in node.values if isinstance(v, ast.Constant))
    return None


def _choices(call: ast.Call) -> list[str] | None:
    for keyword in call.keywords:
        if keyword.arg == "choices" and isinstance(keyword.value, ast.List):
            texts = [_text(item) for item in keyword.value.elts]
            return [text for text in texts if text is not None] or None
    return None


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def flags_of(tree: ast.AST) -> Iterator[tuple[str, list[str] | None]]:
    """Flags of ``add_argument`` calls, and of the settings classes that argparse is built from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
            for argument in node.args:
                text = _text(argument)
                if text and text.startswith("--"):
                    yield text, _choices(node)
        if isinstance(node, ast.ClassDef):
            for field in node.body:
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                    yield from _field_flags(node.name, field.target.id, field.annotation)


def _field_flags(
    owner: str, name: str, annotation: ast.expr
) -> Iterator[tuple[str, list[str] | None]]:
    written = ast.unparse(annotation)
    if written.startswith("A["):  # SGLang: A[type, help] or A[type, Arg(...)]
        if "no_cli=True" in written:
            return
        calls = [n for n in ast.walk(annotation) if isinstance(n, ast.Call)]
        choices = next((c for c in map(_choices, calls) if c), None)
        renamed = re.search(r"cli_name='(--[a-z0-9-]+)'", written)
        yield (renamed.group(1) if renamed else _flag(name)), choices
        for alias in re.findall(r"aliases=\[([^\]]*)\]", written):
            for flag in re.findall(r"'(--[^']+)'", alias):
                yield flag, choices
    elif owner in ("BaseFrontendArgs", "FrontendArgs"):  # vLLM's front end
        yield _flag(name), None


def _names(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Dict):
        items: list[ast.expr | None] = [*node.keys]
    elif isinstance(node, ast.List):
        items = [*node.elts]
    else:
        return []
    texts = [_text(item) for item in items if item is not None]
    return [text for text in texts if text is not None]


def registered(tree: ast.AST) -> Iterator[tuple[str, list[str]]]:
    """Names of the tool and reasoning parsers that the sources register."""
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            target: ast.expr = node.target
            value = node.value
        elif isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
        else:
            continue
        for flag, pattern in _REGISTRIES.items():
            if pattern.search(ast.unparse(target)) and (names := _names(value)):
                yield flag, names


def metrics_of(tree: ast.AST) -> Iterator[tuple[str, str | None]]:
    """Metric names with their kind, as a Prometheus client is given them."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        texts = [_text(a) for a in [*node.args, *(k.value for k in node.keywords)]]
        name = next((t for t in texts if t and _METRIC.fullmatch(t)), None)
        kind = re.search(r"(counter|gauge|histogram|summary)", ast.unparse(node.func).lower())
        if name:
            yield name, kind.group(1) if kind else None


def read(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """``flags.json`` and ``metrics.json`` as data, from the wheels in a folder."""
    flags: dict[str, Any] = {}
    metrics: dict[str, Any] = {}
    for package, parsers in _PARSERS.items():
        stem = package.replace("-", "_")
        wheel = next(folder.glob(f"{stem}-*.whl"))
        found: dict[str, list[str] | None] = {}
        choices: dict[str, list[str]] = {}
        kinds: dict[str, str] = {}
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.namelist():
                if not member.endswith(".py") or not member.startswith(f"{stem}/"):
                    continue
                source = archive.read(member).decode()
                names_parsers = any(p.search(source) for p in _REGISTRIES.values())
                if not (member.startswith(parsers) or names_parsers or _METRIC.search(source)):
                    continue
                tree = ast.parse(source)
                if member.startswith(parsers):
                    for flag, given in flags_of(tree):
                        found[flag] = found.get(flag) or given
                for flag, names in registered(tree):
                    choices[flag] = sorted({*choices.get(flag, []), *names})
                for name, kind in metrics_of(tree):
                    kinds[name] = kind or kinds.get(name, "unknown")
        version = wheel.name.split("-")[1]
        limited = {flag: given for flag, given in found.items() if given} | choices
        flags[package] = {
            "version": version,
            "source": [f"{package} {version}: {path}" for path in parsers],
            "flags": sorted(found),
            "choices": dict(sorted(limited.items())),
        }
        if kinds:
            metrics[package] = {"version": version, "metrics": dict(sorted(kinds.items()))}
    metrics["dcgm-exporter"] = {"version": "4.5.3", "metrics": _DCGM}
    return flags, metrics


if __name__ == "__main__":
    read_flags, read_metrics = read(Path(sys.argv[1]))
    for place, data in (
        (DEPLOYMENTS / "serving" / "flags.json", read_flags),
        (DEPLOYMENTS / "watching" / "metrics.json", read_metrics),
    ):
        place.write_text(json.dumps(data, indent=1) + "\n")
        print(place.name, {k: len(v.get("flags", v.get("metrics"))) for k, v in data.items()})
