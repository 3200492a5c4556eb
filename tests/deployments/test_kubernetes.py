"""The Kubernetes manifests: valid by the schemas, hardened, and pointing at what exists."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import kubernetes_validate
import pytest

from tests.deployments import manifests

FOLDERS = ("kubernetes", "serving/kubernetes")
ENGINES = ("vllm", "sglang")
PODS = [
    pytest.param(folder, metadata, spec, id=f"{folder}: {name}")
    for folder in FOLDERS
    for name, metadata, spec in manifests.pods(folder)
]
FILES = [path for path in manifests.KUBERNETES if path.name != "kustomization.yaml"]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(manifests.DEPLOYMENTS)))
def test_every_object_fits_its_schema(path: Any) -> None:
    for found in manifests.documents(path):
        # The oldest release still maintained and the newest, with unknown fields refused.
        for version in ("1.34", "1.37"):
            kubernetes_validate.validate(found, version, strict=True)


def test_a_wrong_field_is_refused() -> None:
    broken = manifests.objects("kubernetes")[0] | {"specs": {}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, "1.37", strict=True)


@pytest.mark.parametrize(("folder", "metadata", "spec"), PODS)
def test_pods_are_hardened_limited_and_probed(
    folder: str, metadata: dict[str, Any], spec: dict[str, Any]
) -> None:
    security = spec["securityContext"]
    assert security["runAsNonRoot"] is True
    assert security["runAsUser"] >= 1000
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()
    for volume in spec["volumes"]:
        assert "hostPath" not in volume
        if "emptyDir" in volume:
            assert volume["emptyDir"]["sizeLimit"]
    for container in spec["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        for kind in ("requests", "limits"):
            assert {"cpu", "memory"} <= container["resources"][kind].keys()
        assert "readinessProbe" in container
        assert "livenessProbe" in container
        ports = {port["name"] for port in container.get("ports", [])}
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            for kind in ("httpGet", "tcpSocket"):
                if kind in container.get(probe, {}):
                    assert container[probe][kind]["port"] in ports
        mounts = {mount["name"] for mount in container["volumeMounts"]}
        assert mounts == {volume["name"] for volume in spec["volumes"]}


def _matches(selector: dict[str, Any], folder: str) -> bool:
    wanted = selector.get("matchLabels", selector).items()
    return any(wanted <= metadata["labels"].items() for _, metadata, _ in manifests.pods(folder))


@pytest.mark.parametrize("folder", FOLDERS)
def test_selectors_find_pods_and_every_pod_has_a_network_policy(folder: str) -> None:
    policies = []
    for found in manifests.objects(folder):
        spec = found.get("spec", {})
        if found["kind"] in ("Service", "Deployment", "StatefulSet", "PodDisruptionBudget"):
            assert _matches(spec["selector"], folder), found["metadata"]["name"]
        if found["kind"] == "NetworkPolicy":
            policies.append(spec)
            if spec["podSelector"]:
                assert _matches(spec["podSelector"], folder), found["metadata"]["name"]
            for peer in _local_peers(spec):
                assert _matches(peer, folder), (found["metadata"]["name"], peer)
        if found["kind"] == "HorizontalPodAutoscaler":
            target = spec["scaleTargetRef"]
            assert (target["kind"], target["name"]) in {
                (o["kind"], o["metadata"]["name"]) for o in manifests.objects(folder)
            }
    assert {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]} in policies
    for _, metadata, _ in manifests.pods(folder):
        own = [p for p in policies if p["podSelector"].get("matchLabels", {}).items()]
        assert any(
            p["podSelector"]["matchLabels"].items() <= metadata["labels"].items() for p in own
        )


def _local_peers(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The pods that a policy names in its own namespace."""
    for rule in (*spec.get("ingress", []), *spec.get("egress", [])):
        for peer in (*rule.get("from", []), *rule.get("to", [])):
            if "podSelector" in peer and "namespaceSelector" not in peer:
                yield peer["podSelector"]


@pytest.mark.parametrize(("folder", "metadata", "spec"), PODS)
def test_what_a_pod_refers_to_exists(
    folder: str, metadata: dict[str, Any], spec: dict[str, Any]
) -> None:
    named = {
        (found["kind"], found["metadata"]["name"]): found for found in manifests.objects(folder)
    }
    for container in spec["containers"]:
        for source in container.get("envFrom", []):
            assert ("ConfigMap", source["configMapRef"]["name"]) in named
        for variable in container.get("env", []):
            reference = variable.get("valueFrom", {}).get("secretKeyRef")
            if reference:
                secret = named["Secret", reference["name"]]
                assert reference["key"] in secret["stringData"]
        for variable in container.get("env", []):
            if variable["name"].endswith("_FILE"):
                place, _, file = variable["value"].rpartition("/")
                mount = next(m for m in container["volumeMounts"] if m["mountPath"] == place)
                volume = next(v for v in spec["volumes"] if v["name"] == mount["name"])
                secret = named["Secret", volume["secret"]["secretName"]]
                assert file in secret["stringData"]


def test_workers_reach_the_router_and_neither_private_addresses_nor_the_metadata_service() -> None:
    policies = {
        (folder, found["metadata"]["name"]): found["spec"]
        for folder in FOLDERS
        for found in manifests.objects(folder)
        if found["kind"] == "NetworkPolicy"
    }
    worker = policies["kubernetes", "worker"]
    assert worker["ingress"] == []
    router = next(
        rule["to"][0]
        for rule in worker["egress"]
        if rule["ports"] == [{"protocol": "TCP", "port": 8000}]
    )
    assert router["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "serving"}
    assert _matches(router["podSelector"], "serving/kubernetes")
    web = next(rule for rule in worker["egress"] if "ipBlock" in rule.get("to", [{}])[0])
    assert {"169.254.0.0/16", "10.0.0.0/8"} <= set(web["to"][0]["ipBlock"]["except"])


@pytest.mark.parametrize(
    "folder", ["kubernetes", "serving/kubernetes/vllm", "serving/kubernetes/sglang"]
)
def test_kustomizations_hold_what_they_name_and_no_example_secret(folder: str) -> None:
    place = manifests.DEPLOYMENTS / folder
    named = manifests.documents(place / "kustomization.yaml")[0]["resources"]
    for name in named:
        assert (place / name).exists()
        assert "secret" not in name
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl, which puts the manifests together, is not installed")
    built = subprocess.run(
        ["kubectl", "kustomize", str(place)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert "kind: Secret\n" not in built.stdout
    assert "kind: NetworkPolicy\n" in built.stdout
