"""The chart, rendered by Helm and judged by a real API server."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import yaml

from tests.lab.binaries import built
from tests.lab.helm import Helm, HelmError
from tests.lab.kubectl import Kubectl
from tests.real.chart_roles import (
    CONTROLLER,
    IMAGE,
    MESH,
    OBJECTS,
    ROLES,
    SERVICE_MONITORS,
    Manifest,
    chosen,
    container,
    option,
)


def controller(**values: object) -> Manifest:
    """The values of a hub, with some of its controller's."""
    return IMAGE | {"controller": CONTROLLER | {"enabled": True} | values}


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return Helm(built("helm"), tmp_path_factory.mktemp("helm"))


@pytest.mark.parametrize("role", ROLES)
async def test_an_api_server_accepts_every_manifest_of_a_role(
    role: str, helm: Helm, kubectl_for: Callable[[str], Kubectl], namespace: str
) -> None:
    east = kubectl_for("east")
    manifests = await helm.template("mcs", namespace, ROLES[role])
    assert {f"{each['kind']}/{each['metadata']['name']}" for each in manifests} == OBJECTS[role]
    await east("apply", "-f", "-", stdin=SERVICE_MONITORS)
    await east("wait", "--for=condition=Established", "-f", "-", "--timeout=30s", stdin=SERVICE_MONITORS)
    accepted = await east(
        "apply", "--server-side", "--dry-run=server", "-f", "-", stdin=yaml.safe_dump_all(manifests)
    )
    assert len(accepted.splitlines()) == len(manifests)


@pytest.mark.parametrize("role", ["both", "both, with every option", "mesh", "mesh, with every option"])
async def test_pods_of_the_chart_pass_the_restricted_pod_security_standard(
    role: str, helm: Helm, kubectl_for: Callable[[str], Kubectl], namespace: str
) -> None:
    east = kubectl_for("east")
    await east("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    for manifest in await helm.template("mcs", namespace, ROLES[role]):
        if manifest["kind"] == "Deployment":
            pod = {"apiVersion": "v1", "kind": "Pod", **manifest["spec"]["template"]}
            pod["metadata"]["name"] = manifest["metadata"]["name"]
            created = await east(
                "create", "--dry-run=server", "--namespace", namespace, "-f", "-", stdin=yaml.safe_dump(pod)
            )
            assert "created" in created
            (security,) = (each["securityContext"] for each in pod["spec"]["containers"])
            assert security["readOnlyRootFilesystem"]


async def test_dns_is_reached_over_udp_and_tcp(helm: Helm) -> None:
    manifests = await helm.template("mcs", "mcs-system", ROLES["both, with every option"])
    dns = container(chosen(manifests, "Deployment", "mcs-dns"))
    both = {(53, "UDP"), (53, "TCP")}
    ports = {port["name"]: (port["containerPort"], port["protocol"]) for port in dns["ports"]}
    assert option(dns["args"], "--listen") == "[::]:53"
    assert both < set(ports.values())
    service = chosen(manifests, "Service", "mcs-dns")["spec"]
    assert {(port["port"], port["protocol"]) for port in service["ports"]} == both
    assert {ports[port["targetPort"]] for port in service["ports"]} == both
    (ingress,) = chosen(manifests, "NetworkPolicy", "mcs-dns")["spec"]["ingress"]
    assert {(port["port"], port["protocol"]) for port in ingress["ports"]} > both


@pytest.mark.parametrize("component", ["controller", "dns"])
async def test_metrics_are_served_where_services_policies_and_monitors_look_for_them(
    component: str, helm: Helm
) -> None:
    manifests = await helm.template("mcs", "mcs-system", ROLES["both, with every option"])
    deployment = chosen(manifests, "Deployment", f"mcs-{component}")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    program = container(deployment)
    port = int(option(program["args"], "--metrics-listen").rpartition(":")[2])
    assert {"name": "metrics", "containerPort": port, "protocol": "TCP"} in program["ports"]
    service = chosen(manifests, "Service", f"mcs-{component}-metrics")
    assert service["spec"]["ports"] == [
        {"name": "metrics", "port": port, "targetPort": "metrics", "protocol": "TCP"}
    ]
    policy = chosen(manifests, "NetworkPolicy", f"mcs-{component}")["spec"]
    assert {"port": port, "protocol": "TCP"} in policy["ingress"][0]["ports"]
    budget = chosen(manifests, "PodDisruptionBudget", f"mcs-{component}")["spec"]
    for selector in (
        service["spec"]["selector"],
        policy["podSelector"]["matchLabels"],
        budget["selector"]["matchLabels"],
        deployment["spec"]["selector"]["matchLabels"],
    ):
        assert selector == labels
    monitor = chosen(manifests, "ServiceMonitor", "mcs")
    assert monitor["spec"]["endpoints"] == [{"port": "metrics"}]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    rules = chosen(manifests, "PrometheusRule", "mcs")
    assert rules["metadata"]["labels"]["release"] == "prometheus"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "set image.repository to an image"),
        (IMAGE | {"member": {"enabled": False}}, "nothing to install: set controller.enabled"),
        (controller(clusters=[]), "set controller.clusters to the members"),
        (controller(kubeconfigSecret={}), "set controller.kubeconfigSecret.name to the Secret"),
        (
            controller(clusters=[{"id": "a"}, {"id": "b"}, {"id": "a"}]),
            "id is given twice in controller.clusters \\(a, b, a\\): give every member an id of its own",
        ),
        (controller(self="east"), "controller.self is for the mesh shape"),
        (
            IMAGE | MESH | {"controller": CONTROLLER},
            "set controller.self to the id of this cluster, one of east, west-1",
        ),
        (IMAGE | MESH | {"controller": CONTROLLER | {"self": "south"}}, "one of east, west-1"),
        (IMAGE | MESH | {"member": {"enabled": False}}, "leave member.enabled true, or set shape to hub"),
        (
            IMAGE | {"member": {"access": {"serviceAccount": False}}},
            "controllers of other clusters need an identity in a member: set member.access",
        ),
        (IMAGE | {"shape": "ring"}, "/shape"),
        (IMAGE | {"autoExport": True}, "/autoExport"),
        (controller(clusters=[{"id": "East"}]), "/controller/clusters/0/id"),
        (IMAGE | {"hub": {"enabled": True}}, "hub"),
        (IMAGE | {"listenAddress": "localhost"}, "/listenAddress"),
        (IMAGE | {"member": {"dns": {"replica": 3}}}, "replica"),
        (IMAGE | {"runAsUser": 0}, "/runAsUser"),
    ],
)
async def test_a_wrong_value_is_refused_with_its_name(values: Manifest, said: str, helm: Helm) -> None:
    with pytest.raises(HelmError, match=said):
        await helm.template("mcs", "mcs-system", values)


async def test_a_controller_of_the_mesh_is_itself_at_home_and_known_by_the_kubeconfig_elsewhere(
    helm: Helm,
) -> None:
    manifests = await helm.template("mcs", "mcs-system", ROLES["mesh, with every option"])
    arguments = container(chosen(manifests, "Deployment", "mcs-controller"))["args"]
    options = ("--targets", "--self", "--auto-export")
    assert [option(arguments, name) for name in options] == ["self", "east", "tier=web,!internal"]
    contexts = [each.removeprefix("--cluster=") for each in arguments if each.startswith("--cluster=")]
    assert contexts == ["east=mcs-home", "west-1=west"]
    pod = chosen(manifests, "Deployment", "mcs-controller")["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"]
    home = yaml.safe_load(chosen(manifests, "ConfigMap", "mcs-controller")["data"]["kubeconfig"])
    assert [each["name"] for each in home["contexts"]] == ["mcs-home"]


@pytest.mark.parametrize("role", ["hub", "mesh"])
async def test_the_replicas_of_a_release_elect_one_by_a_lease_that_they_may_use(
    role: str, helm: Helm
) -> None:
    manifests = await helm.template("prod", "mcs-system", ROLES[role])
    deployment = chosen(manifests, "Deployment", "prod-mcs-controller")["spec"]["template"]["spec"]
    arguments = container({"spec": {"template": {"spec": deployment}}})["args"]
    assert "--leader-elect" in arguments
    assert option(arguments, "--host-context") == "mcs-home"
    assert option(arguments, "--lease-namespace") == "mcs-system"
    creating, using = chosen(manifests, "Role", "prod-mcs-controller")["rules"]
    assert (creating["resources"], creating["verbs"]) == (["leases"], ["create"])
    assert using["resourceNames"] == [option(arguments, "--lease-name")] == ["prod-mcs-controller"]
    assert deployment["automountServiceAccountToken"]


@pytest.mark.parametrize("role", ["both", "mesh"])
async def test_two_releases_of_a_cluster_share_no_name(role: str, helm: Helm) -> None:
    names = [
        {(each["kind"], each["metadata"]["name"]) for each in await helm.template(release, "x", ROLES[role])}
        for release in ("mcs", "next")
    ]
    assert not names[0] & names[1]
