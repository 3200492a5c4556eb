"""Every command line in the manifests is run or parsed here, or listed as not run with a reason."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from typing import Any

import click
import pytest
import yaml

from deskwork.flows.command import cli
from tests.deployments import manifests

# One process imports Prefect for all of them.
pytestmark = pytest.mark.xdist_group("prefect-cli")

NOT_RUN = yaml.safe_load((manifests.DEPLOYMENTS / "not-run.yaml").read_text())
# Run by test_scripts.py.
RUN = ("python -m deskwork.deployments.health ready", "python -m deskwork.deployments.health alive")


def parse_deskwork(words: tuple[str, ...]) -> None:
    name, *arguments = words[1:]
    command = cli.commands[name]
    with command.make_context(name, arguments, parent=click.Context(cli)):
        pass


def parse_prefect(words: tuple[str, ...]) -> None:
    from prefect.cli import _app

    command, bound, _ = _app._app.parse_args(
        list(words[1:]), exit_on_error=False, print_error=False
    )
    assert command.__name__ == "start"
    assert bound.arguments == {"host": "0.0.0.0", "port": 4200, "analytics": False}


PARSED = {"deskwork": parse_deskwork, "prefect": parse_prefect}


def test_every_command_is_run_parsed_or_listed_with_a_reason() -> None:
    used = set()
    for command in manifests.commands():
        if command.words[0] in PARSED or command.line in RUN:
            continue
        listed = [
            entry["command"] for entry in NOT_RUN if command.line.startswith(entry["command"])
        ]
        assert listed, f"{command.place}: {command.line}"
        used.update(listed)
    assert used == {entry["command"] for entry in NOT_RUN}
    assert all(len(entry["why"]) > 10 for entry in NOT_RUN)


@pytest.mark.parametrize(
    "words", sorted({c.words for c in manifests.commands() if c.words[0] in PARSED})
)
def test_the_command_parses(words: tuple[str, ...]) -> None:
    PARSED[words[0]](words)


def test_a_wrong_flag_does_not_parse() -> None:
    with pytest.raises(click.UsageError):
        parse_deskwork(("deskwork", "jobs", "--limits", "4"))


def test_the_image_installs_extras_that_exist_and_the_command() -> None:
    import tomllib

    project = tomllib.loads((manifests.ROOT / "pyproject.toml").read_text())["project"]
    build = next(c.line for c in manifests.commands() if "/opt/deskwork/bin/pip" in c.line)
    found = re.search(r"'\.\[([a-z0-9,]+)\]'", build)
    assert found is not None
    assert set(found.group(1).split(",")) <= project["optional-dependencies"].keys()
    assert entry_points(group="console_scripts")["deskwork"].value == project["scripts"]["deskwork"]


def test_prefect_knows_every_setting_that_a_manifest_names() -> None:
    from prefect.settings.context import get_current_settings

    known = {name.upper() for name in _names(type(get_current_settings()))}
    # Of prefect-redis, and no setting of Prefect's own.
    known.add("PREFECT_REDIS_MESSAGING_URL")
    named = {
        name.removesuffix("_FILE")
        for service in manifests.services(manifests.COMPOSE[0]).values()
        for name in service.get("environment", {})
    } | {
        name
        for found in manifests.objects("kubernetes")
        if found["kind"] == "ConfigMap"
        for name in found["data"]
    }
    ours = {name for name in named if name.startswith("PREFECT_")}
    assert "PREFECT_SERVER_DOCKET_URL" in ours
    assert ours - known == set()


def _names(model: Any) -> set[str]:
    """The environment's names of a settings class and those under it, older names included."""
    found = set()
    prefix = model.model_config.get("env_prefix", "")
    for name, field in model.model_fields.items():
        if hasattr(field.annotation, "model_fields"):
            found |= _names(field.annotation)
        choices = getattr(field.validation_alias, "choices", [])
        found |= {prefix + name, *(choice for choice in choices if isinstance(choice, str))}
    return found
