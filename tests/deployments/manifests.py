"""The manifests as data: documents, containers, commands, and the commands that stand in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DEPLOYMENTS = ROOT / "deployments"
COMPOSE = (DEPLOYMENTS / "compose.yaml", DEPLOYMENTS / "serving" / "compose.yaml")
KUBERNETES = sorted(
    path
    for folder in (DEPLOYMENTS / "kubernetes", DEPLOYMENTS / "serving" / "kubernetes")
    for path in folder.rglob("*.yaml")
)
CONTAINERFILES = (
    DEPLOYMENTS / "Containerfile",
    *sorted((DEPLOYMENTS / "serving").glob("Containerfile.*")),
)
_PODS = ("Deployment", "StatefulSet")


@cache
def _read(path: Path) -> list[dict[str, Any]]:
    return [found for found in yaml.load_all(path.read_text(), yaml.CSafeLoader) if found]


def documents(path: Path) -> list[dict[str, Any]]:
    """The documents of a YAML file, to keep: they are copies."""
    return deepcopy(_read(path))


def objects(folder: str) -> list[dict[str, Any]]:
    """All Kubernetes objects under a folder of deployments, kustomizations left out."""
    return [
        found
        for path in KUBERNETES
        if path.is_relative_to(DEPLOYMENTS / folder)
        for found in documents(path)
        if found["kind"] != "Kustomization"
    ]


def pods(folder: str) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Name, metadata and specification of each pod template."""
    for found in objects(folder):
        if found["kind"] in _PODS:
            template = found["spec"]["template"]
            name = f"{found['kind']}/{found['metadata']['name']}"
            yield name, template["metadata"], template["spec"]


def services(path: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = documents(path)[0]["services"]
    return found


@dataclass(frozen=True)
class Command:
    """A command line and the file it stands in."""

    place: str
    words: tuple[str, ...]

    @property
    def line(self) -> str:
        return " ".join(self.words)


def words(given: Any) -> tuple[str, ...]:
    """A command as a list of words; Compose writes $ as $$, and a shell's snippet is one word."""
    if given is None:
        return ()
    found = shlex.split(given) if isinstance(given, str) else [str(word) for word in given]
    return tuple(word.replace("$$", "$") for word in found)


def _unwrapped(found: tuple[str, ...]) -> tuple[str, ...]:
    """What a shell snippet runs: ``/bin/sh -c SNIPPET NAME ARGUMENTS`` with the arguments."""
    if found[:2] != ("/bin/sh", "-c"):
        return found
    snippet, arguments = found[2], found[4:]
    before, run, after = snippet.partition("exec ")
    if not run or before.startswith("echo"):
        return (snippet,)
    inner = [word for word in shlex.split(after) if word != "$@"]
    return (*inner, *arguments)


def commands() -> list[Command]:
    """Every command line of every manifest, image and script."""
    found: list[Command] = []

    def add(place: str, given: tuple[str, ...]) -> None:
        if given:
            found.append(Command(place, _unwrapped(given)))

    for path in COMPOSE:
        for name, service in services(path).items():
            place = f"{path.relative_to(DEPLOYMENTS)}: {name}"
            add(place, words(service.get("entrypoint")) + words(service.get("command")))
            test = words(service.get("healthcheck", {}).get("test"))
            add(place, test[1:])
    for folder in ("kubernetes", "serving/kubernetes"):
        for name, _, spec in pods(folder):
            for container in spec["containers"]:
                place = f"{folder}: {name}"
                add(place, words(container.get("command")) + words(container.get("args")))
                for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                    add(place, words(container.get(probe, {}).get("exec", {}).get("command")))
    for path in CONTAINERFILES:
        for instruction, rest in instructions(path):
            place = f"{path.relative_to(DEPLOYMENTS)}: {instruction}"
            if instruction == "RUN":
                add(place, (rest,))
            elif instruction == "HEALTHCHECK":
                add(place, tuple(yaml.safe_load(rest.partition(" CMD ")[2])))
            elif instruction == "CMD":
                add(place, tuple(yaml.safe_load(rest)))
    return found


def instructions(path: Path) -> list[tuple[str, str]]:
    """The instructions of a Containerfile, continued lines joined."""
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [
        (line.split(maxsplit=1)[0], " ".join(line.split()[1:]))
        for line in joined.splitlines()
        if line.strip()
    ]


def images() -> list[tuple[str, str]]:
    """Place and name of each image."""
    found = []
    for path in COMPOSE:
        found += [(f"{path.name}: {name}", s["image"]) for name, s in services(path).items()]
    for folder in ("kubernetes", "serving/kubernetes"):
        for name, _, spec in pods(folder):
            found += [(name, container["image"]) for container in spec["containers"]]
    for path in CONTAINERFILES:
        arguments = dict(
            rest.split("=", 1) for kind, rest in instructions(path) if kind == "ARG" and "=" in rest
        )
        for kind, rest in instructions(path):
            if kind == "FROM":
                name = rest.split()[0]
                for key, value in arguments.items():
                    name = name.replace(f"${{{key}}}", value)
                found.append((path.name, name))
    return found
