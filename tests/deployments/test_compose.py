"""The Compose files: valid by the specification, hardened, and pointing at what exists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from deskwork.tasks.prefect_settings import Folder, server_settings
from tests.deployments import manifests

SERVICES = [
    pytest.param(path, service, id=f"{path.parent.name}: {name}")
    for path in manifests.COMPOSE
    for name, service in manifests.services(path).items()
]


@pytest.mark.parametrize("path", manifests.COMPOSE, ids=lambda p: p.parent.name)
def test_the_file_fits_the_specification(path: Path) -> None:
    schema = json.loads((Path(__file__).parent / "compose-spec.json").read_text())
    document = manifests.documents(path)[0]
    del document["name"]  # newer than this copy of the schema
    validator = jsonschema.Draft7Validator(schema)
    validator.validate(document)
    document["services"]["router" if "router" in document["services"] else "server"]["imaeg"] = "x"
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(document)


@pytest.mark.parametrize(("path", "service"), SERVICES)
def test_services_are_hardened_limited_and_probed(path: Path, service: dict[str, Any]) -> None:
    user = str(service["user"]).partition(":")[0]
    assert user.isdigit()
    assert user != "0"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.get("privileged")
    limits = service["deploy"]["resources"]["limits"]
    assert {"cpus", "memory"} <= limits.keys()
    assert "healthcheck" in service
    if service["healthcheck"].get("disable"):
        assert service["restart"] == "on-failure"  # it runs once
    for port in service.get("ports", []):
        assert port.startswith("127.0.0.1:")


@pytest.mark.parametrize(("path", "service"), SERVICES)
def test_what_a_service_refers_to_exists(path: Path, service: dict[str, Any]) -> None:
    document = manifests.documents(path)[0]
    assert set(service.get("secrets", [])) <= document["secrets"].keys()
    assert set(service.get("networks", [])) <= document["networks"].keys()
    for volume in service.get("volumes", []):
        source = volume.partition(":")[0]
        if source.startswith("."):
            assert (path.parent / source).is_file()
        else:
            assert source in document["volumes"]
    for other, wanted in service.get("depends_on", {}).items():
        target = document["services"][other]
        if wanted["condition"] == "service_healthy":
            assert "test" in target["healthcheck"]
    for name, value in service.get("environment", {}).items():
        if name.endswith("_FILE"):
            assert value.removeprefix("/run/secrets/") in service["secrets"]


def test_only_workers_and_the_page_reach_beyond_and_the_database_does_not() -> None:
    document = manifests.documents(manifests.COMPOSE[0])[0]
    assert document["networks"]["inside"]["internal"] is True
    outside = {n for n, s in document["services"].items() if "outside" in s["networks"]}
    assert outside == {"server", "metrics", "worker-1", "worker-2"}


def test_the_server_is_told_what_the_server_of_one_machine_is_told() -> None:
    compose = manifests.services(manifests.COMPOSE[0])["server"]["environment"]
    cluster = next(
        found["data"]
        for found in manifests.objects("kubernetes")
        if found["kind"] == "ConfigMap" and found["metadata"]["name"] == "server-settings"
    )
    alone = server_settings(Folder(Path("home")), 4200)
    # Kept in Valkey and PostgreSQL here, and the server's place is another.
    other = {
        "PREFECT_HOME",
        "PREFECT_PROFILES_PATH",
        "PREFECT_SERVER_API_HOST",
        "PREFECT_SERVER_API_PORT",
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE",
        "PREFECT_SERVER_DATABASE_CONNECTION_URL",
        "PREFECT_SERVER_UI_API_URL",
    }
    shared = {name: value for name, value in alone.items() if name not in other}
    for settings in (compose, cluster):
        assert {name: settings.get(name) for name in shared} == shared
    for settings in (compose, cluster):
        assert settings["PREFECT_MESSAGING_BROKER"] == "prefect_redis.messaging"
