"""Images pinned, no secret in any file, every file in the wheel, image built of what exists."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.deployments import manifests

FILES = sorted(
    path
    for path in manifests.DEPLOYMENTS.rglob("*")
    if path.is_file() and not {"__pycache__", "secrets"} & set(path.parts)
)
_SECRETS = (
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY"),
    re.compile(r"\b(sk|hf|ghp|xox[bp])[-_][A-Za-z0-9]{16,}"),
    re.compile(r"\bAKIA[0-9A-Z]{12,}"),
    re.compile(r"://[^\s/$@:]+:(?!REPLACE|\$)[^\s/@$]+@"),
    re.compile(
        r"(?i)(password|secret_access_key|token)\s*[:=]\s*['\"]?(?!REPLACE|\$|/)[a-z0-9]{8,}"
    ),
    re.compile(r"\b[0-9a-f]{40,}\b"),
)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(manifests.DEPLOYMENTS)))
def test_no_file_holds_a_secret(path: Path) -> None:
    text = path.read_text()
    for pattern in _SECRETS:
        assert not pattern.search(text), pattern.pattern


def test_a_planted_secret_is_found() -> None:
    planted = (
        "postgresql://deskwork:hunter22@postgres/deskwork",
        "aws_secret_access_key = abcdefgh1234",
        "AKIAABCDEFGHIJKLMNOP",
    )
    for text in planted:
        assert any(pattern.search(text) for pattern in _SECRETS), text


def test_example_secrets_hold_placeholders_alone() -> None:
    found = [
        value
        for folder in ("kubernetes", "serving/kubernetes")
        for one in manifests.objects(folder)
        if one["kind"] == "Secret"
        for value in one["stringData"].values()
    ]
    assert len(found) > 5
    assert all("REPLACE" in value for value in found)


@pytest.mark.parametrize(("place", "image"), manifests.images())
def test_images_are_pinned(place: str, image: str) -> None:
    assert re.search(r":v?\d+\.\d+[\w.-]*$", image), f"{place}: {image}"


def test_the_image_s_version_is_the_package_s() -> None:
    version = tomllib.loads((manifests.ROOT / "pyproject.toml").read_text())["project"]["version"]
    named = {name for _, name in manifests.images() if name.startswith("deskwork:")}
    assert named == {f"deskwork:{version}"}
    labels = dict(manifests.instructions(manifests.CONTAINERFILES[0]))["LABEL"]
    assert f'org.opencontainers.image.version="{version}"' in labels


@pytest.mark.parametrize("path", manifests.CONTAINERFILES, ids=lambda p: p.name)
def test_images_run_as_a_number_with_probe_and_labels_and_keep_no_cache(path: Path) -> None:
    found = manifests.instructions(path)
    kinds = [kind for kind, _ in found]
    user = [rest for kind, rest in found if kind == "USER"][-1]
    assert re.fullmatch(r"[1-9]\d{4,}:[1-9]\d{4,}", user)
    assert {"HEALTHCHECK", "LABEL"} <= set(kinds)
    text = "\n".join(rest for _, rest in found)
    for _, rest in (i for i in found if i[0] == "RUN"):
        if "pip install" in rest:
            assert "--no-cache-dir" in rest or "PIP_NO_CACHE_DIR=1" in text
        if "apt-get install" in rest:
            assert "rm -rf /var/lib/apt/lists/*" in rest
    assert not re.search(r"(?i)^(ARG|ENV).*(key|password|token)", path.read_text(), re.MULTILINE)


def test_what_the_image_copies_exists_and_is_not_ignored() -> None:
    ignored = (manifests.ROOT / ".containerignore").read_text().splitlines()
    docker = (manifests.DEPLOYMENTS / "Containerfile.dockerignore").read_text().splitlines()
    assert ignored[1:] == docker[1:]
    for kind, rest in manifests.instructions(manifests.CONTAINERFILES[0]):
        if kind == "COPY" and "--from" not in rest:
            *sources, _ = [word for word in rest.split() if not word.startswith("--")]
            for source in sources:
                assert (manifests.ROOT / source).exists(), source
                assert f"!{source.partition('/')[0]}" in ignored, source


def test_every_file_is_in_the_wheel() -> None:
    project = tomllib.loads((manifests.ROOT / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["deskwork.deployments"]
    packed = {path for pattern in patterns for path in manifests.DEPLOYMENTS.glob(pattern)}
    left = [path for path in FILES if path not in packed and path.suffix != ".py"]
    assert left == []
    assert not [path for path in packed if "secrets" in path.parts]
