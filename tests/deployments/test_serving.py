"""The engines' commands: their flags are in the engines' own parsers, and alike in every form."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.deployments import manifests

SERVING = manifests.DEPLOYMENTS / "serving"
FLAGS: dict[str, Any] = json.loads((SERVING / "flags.json").read_text())
PROGRAMS = {
    "vllm": ("vllm", "serve"),
    "sglang": ("python3", "-m", "sglang.launch_server"),
    "sglang-router": ("sglang-router", "launch"),
}
SCRIPTS = {"vllm": "vllm.sh", "sglang": "sglang.sh", "sglang-router": "router.sh"}
SECRET = "--api-key"
WINDOWS = {"vllm": "--max-model-len", "sglang": "--context-length"}


def flags(words: tuple[str, ...]) -> dict[str, str]:
    """Flags to values; a flag and its value are one word or two."""
    found: dict[str, str] = {}
    last = None
    for word in words:
        if word.startswith("--"):
            last, _, value = word.partition("=")
            found[last] = value
        elif last is not None:
            found[last] = f"{found[last]} {word}".strip()
    return found


def by_script(engine: str, folder: Path) -> tuple[str, ...]:
    """What a start script runs, with a stand-in for the program that prints its arguments."""
    program = PROGRAMS[engine][0]
    stand_in = folder / program
    stand_in.write_text('#!/bin/sh\nfor word in "$@"; do echo "$word"; done\n')
    stand_in.chmod(0o755)
    (folder / "key").write_text("the-key")
    environment = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "MODEL": "s3://models/example-moe-mxfp4",
        "KEY_FILE": str(folder / "key"),
    }
    command = ["sh", str(SERVING / SCRIPTS[engine])]
    if engine == "sglang-router":
        command += ["http://engine-1:8000", "http://engine-2:8000"]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=30, check=True
    )
    return (program, *done.stdout.splitlines())


def by_manifest(engine: str) -> list[tuple[str, ...]]:
    program = PROGRAMS[engine]
    return [c.words for c in manifests.commands() if c.words[: len(program)] == program]


@pytest.mark.parametrize("engine", PROGRAMS)
def test_every_flag_is_one_of_the_program_s_own(engine: str, tmp_path: Path) -> None:
    known = FLAGS[engine]
    lines = [*by_manifest(engine), by_script(engine, tmp_path)]
    assert len(lines) >= 3  # a script, Compose, Kubernetes
    for line in lines:
        for flag, value in flags(line).items():
            assert flag in known["flags"], flag
            if flag in known["choices"]:
                assert value in known["choices"][flag], (flag, value)


@pytest.mark.parametrize("engine", PROGRAMS)
def test_script_compose_and_kubernetes_start_the_same(engine: str, tmp_path: Path) -> None:
    forms = [flags(line) for line in (*by_manifest(engine), by_script(engine, tmp_path))]
    for form in forms:
        form.pop(SECRET, None)  # each form has its own way to the key
        form.pop("--worker-urls", None)  # and to the engines
        if "--model-path" in form:
            assert form.pop("--model-path").endswith(("example-moe-mxfp4", "example-moe-mxfp4}"))
    assert all(form == forms[0] for form in forms)


@pytest.mark.parametrize("engine", WINDOWS)
def test_engines_serve_a_million_tokens_pictures_tools_and_thinking(engine: str) -> None:
    for line in by_manifest(engine):
        found = flags(line)
        assert found[WINDOWS[engine]] == "1048576"
        assert found["--load-format"] == "runai_streamer"
        assert {"--tool-call-parser", "--reasoning-parser"} <= found.keys()
        pictures = next(v for k, v in found.items() if k.startswith("--limit-mm"))
        assert json.loads(pictures)["image"] > 0
        assert "--trust-remote-code" not in found


@pytest.mark.parametrize("service", ["vllm-1", "sglang-1", "router"])
def test_compose_s_shell_hands_over_the_key_and_the_flags(service: str, tmp_path: Path) -> None:
    found = manifests.services(SERVING / "compose.yaml")[service]
    entry = manifests.words(found["entrypoint"])
    command = manifests.words(found["command"])
    (tmp_path / "model_key").write_text("the key")
    for program in ("vllm", "python3", "sglang-router"):
        (tmp_path / program).write_text(
            '#!/bin/sh\necho "key=${VLLM_API_KEY:-}"\nfor word in "$@"; do echo "$word"; done\n'
        )
        (tmp_path / program).chmod(0o755)
    snippet = entry[2].replace("/run/secrets", str(tmp_path))
    done = subprocess.run(
        [*entry[:2], snippet, *entry[3:], *command],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert lines[-len(command) :] == list(command)
    if service == "vllm-1":
        assert lines[0] == "key=the key"
    else:
        assert lines[lines.index("--api-key") + 1] == "the key"


def test_images_are_of_the_versions_whose_flags_are_known() -> None:
    tags = {name.rpartition("/")[2]: name for _, name in manifests.images()}
    assert f"vllm-openai:v{FLAGS['vllm']['version']}" in tags
    assert f"sglang:v{FLAGS['sglang']['version']}" in tags
    assert f"deskwork-router:{FLAGS['sglang-router']['version']}" in tags
    router = (SERVING / "Containerfile.router").read_text()
    assert f"sglang-router=={FLAGS['sglang-router']['version']}\n" in router


def test_flags_cover_the_engines_whole_parsers() -> None:
    assert len(FLAGS["vllm"]["flags"]) > 250
    assert len(FLAGS["sglang"]["flags"]) > 450
    assert "kimi_k3" in FLAGS["vllm"]["choices"]["--tool-call-parser"]
    assert "--no-such-flag" not in FLAGS["vllm"]["flags"]
