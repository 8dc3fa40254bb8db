"""The lab itself, and our CRDs as a real API server sees them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.lab.control_planes import ControlPlanes
from tests.lab.kubectl import Kubectl, KubectlError

KubectlFor = Callable[[str], Kubectl]

EXPORT = """
apiVersion: multicluster.x-k8s.io/{version}
kind: ServiceExport
metadata: {{name: web}}
spec: {{exportedLabels: {{tier: front}}}}
"""
IMPORT = """
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceImport
metadata: {name: web}
spec: {type: ClusterSetIP, ips: [10.0.0.1], ports: [{name: http, port: 80}]}
"""
PLURALS = ("serviceexports", "serviceimports")


@pytest.mark.parametrize("plural", PLURALS)
async def test_v1beta1_is_stored_and_v1alpha1_is_served(
    plural: str, installed_crds: None, kubectl_for: KubectlFor
) -> None:
    crd = json.loads(
        await kubectl_for("east")("get", "crd", f"{plural}.multicluster.x-k8s.io", "--output=json")
    )
    conditions = {condition["type"]: condition["status"] for condition in crd["status"]["conditions"]}
    assert crd["status"]["storedVersions"] == ["v1beta1"]
    assert [version["name"] for version in crd["spec"]["versions"] if version["served"]] == [
        "v1alpha1",
        "v1beta1",
    ]
    # A schema that is not structural would still be stored, and only this condition would tell.
    assert "NonStructuralSchema" not in conditions
    assert (conditions["NamesAccepted"], conditions["Established"]) == ("True", "True")


async def test_an_object_written_in_either_version_is_read_in_both(
    namespace: str, kubectl_for: KubectlFor
) -> None:
    kubectl = kubectl_for("east")
    for written in ("v1alpha1", "v1beta1"):
        await kubectl("apply", "--namespace", namespace, "-f", "-", stdin=EXPORT.format(version=written))
        for read in ("v1alpha1", "v1beta1"):
            resource = f"serviceexports.{read}.multicluster.x-k8s.io"
            found = json.loads(
                await kubectl("get", resource, "web", "--namespace", namespace, "--output=json")
            )
            assert found["apiVersion"] == f"multicluster.x-k8s.io/{read}"
            assert found["spec"] == {"exportedLabels": {"tier": "front"}}


@pytest.mark.parametrize(
    ("names", "columns"),
    [(("svcex", "svcexport"), ["NAME", "AGE"]), (("svcim", "svcimport"), ["NAME", "TYPE", "IP", "AGE"])],
)
async def test_short_names_and_columns(
    names: tuple[str, ...], columns: list[str], namespace: str, kubectl_for: KubectlFor
) -> None:
    kubectl = kubectl_for("west")
    for manifest in (EXPORT.format(version="v1beta1"), IMPORT):
        await kubectl("apply", "--server-side", "--namespace", namespace, "-f", "-", stdin=manifest)
    for name in names:
        header, row = (await kubectl("get", name, "--namespace", namespace)).splitlines()
        assert header.split() == columns
        assert row.split()[0] == "web"


@pytest.mark.parametrize(
    ("patch", "complaint"),
    [
        ({"reason": "has space"}, "should match"),
        ({"reason": ""}, "at least 1"),
        ({"message": "x" * 32769}, "32768"),
        ({"status": "Maybe"}, "Unsupported value"),
        ({"observedGeneration": -1}, "greater than or equal to 0"),
        ({"lastTransitionTime": None}, "lastTransitionTime"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
async def test_a_malformed_condition_is_refused(
    patch: dict[str, object], complaint: str, namespace: str, kubectl_for: KubectlFor
) -> None:
    kubectl = kubectl_for("east")
    await kubectl("apply", "--namespace", namespace, "-f", "-", stdin=EXPORT.format(version="v1beta1"))
    with pytest.raises(KubectlError, match=complaint):
        await _patch_condition(kubectl, namespace, patch)


async def test_a_condition_with_several_reasons_is_accepted_in_the_status_only(
    namespace: str, kubectl_for: KubectlFor
) -> None:
    kubectl = kubectl_for("east")
    await kubectl("apply", "--namespace", namespace, "-f", "-", stdin=EXPORT.format(version="v1beta1"))
    await _patch_condition(kubectl, namespace, {"reason": "PortConflict,TypeConflict"})
    found = json.loads(await kubectl("get", "svcex", "web", "--namespace", namespace, "--output=json"))
    assert [condition["reason"] for condition in found["status"]["conditions"]] == [
        "PortConflict,TypeConflict"
    ]
    # The status is a subresource: the conditions were no change of the spec.
    assert found["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("{ports: []}", "spec.type"),
        ("{type: ClusterSetIP}", "spec.ports"),
        ("{type: LoadBalancer, ports: []}", "Unsupported value"),
        ("{type: ClusterSetIP, ports: [{name: http}]}", "port: Required"),
        ("{type: ClusterSetIP, ports: [], ips: [a, b, c]}", "at most 2 items"),
        ("{type: Headless, ports: [], ipFamilies: [a, b, c]}", "at most 2 items"),
        ("{type: Headless, ports: [], targetPort: 1}", "unknown field"),
    ],
)
async def test_a_malformed_import_is_refused(
    spec: str, complaint: str, namespace: str, kubectl_for: KubectlFor
) -> None:
    head = "apiVersion: multicluster.x-k8s.io/v1beta1, kind: ServiceImport, metadata: {name: x}"
    manifest = f"{{{head}, spec: {spec}}}"
    with pytest.raises(KubectlError, match=complaint):
        await kubectl_for("east")("create", "--namespace", namespace, "-f", "-", stdin=manifest)


async def test_import_status_keeps_clusters_and_endpoint_slice_objects(
    namespace: str, kubectl_for: KubectlFor
) -> None:
    kubectl = kubectl_for("east")
    await kubectl("apply", "--namespace", namespace, "-f", "-", stdin=IMPORT)
    status = {"clusters": [{"cluster": "west"}], "endpointSliceObjects": "Present"}
    await _patch_status(kubectl, "svcim", namespace, status)
    found = json.loads(await kubectl("get", "svcim", "web", "--namespace", namespace, "--output=json"))
    assert found["status"] == status


async def test_the_clusters_do_not_see_each_other(namespace: str, kubectl_for: KubectlFor) -> None:
    await kubectl_for("east")("create", "configmap", "only-east", "--namespace", namespace)
    assert "only-east" in await kubectl_for("east")(
        "get", "configmaps", "--namespace", namespace, "--output=name"
    )
    assert not await kubectl_for("west")("get", "configmaps", "--namespace", namespace, "--output=name")


@pytest.mark.parametrize("end", ["kill", "stop"])
async def test_a_restarted_server_keeps_its_port_and_its_data(
    end: str, namespace: str, planes: ControlPlanes, kubectl_for: KubectlFor
) -> None:
    west, kubectl = planes["west"], kubectl_for("west")
    await kubectl("create", "configmap", "kept", "--namespace", namespace)
    before = west.process.pid
    await getattr(west, end)()
    assert west.process.pid is None
    with pytest.raises(KubectlError, match="refused"):
        await kubectl("get", "configmaps", "--namespace", namespace)
    await west.start()
    assert west.process.pid not in (None, before)
    assert "kept" in await kubectl("get", "configmaps", "--namespace", namespace, "--output=name")


async def test_a_user_without_a_role_is_known_and_may_not_read(
    planes: ControlPlanes, kubectl_for: KubectlFor
) -> None:
    admin = kubectl_for("east")
    reader = Kubectl(admin.binary, planes["east"].kubeconfig("reader"), admin.home)
    assert "reader" in await reader("auth", "whoami")
    with pytest.raises(KubectlError, match="Forbidden"):
        await reader("get", "services", "--all-namespaces")


@pytest.mark.usefixtures("planes")
async def test_leaving_the_clusters_leaves_no_process_and_no_file_also_after_a_failure() -> None:
    running: tuple[int, ...] = ()
    with pytest.raises(ZeroDivisionError):  # noqa: PT012 - the failure must come from inside the block
        async with ControlPlanes(names=("lone",)) as lone:
            running, folder = lone.pids, lone.folder
            _ = 1 / 0
    assert len(running) == 2
    assert not any(_is_alive(pid) for pid in running)
    assert not folder.exists()


@pytest.mark.usefixtures("planes")
async def test_the_clusters_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        "import asyncio, pathlib\n"
        "from tests.lab.control_planes import ControlPlanes\n"
        "async def main():\n"
        f"    async with ControlPlanes(names=('lone',), folder=pathlib.Path({str(tmp_path)!r})) as lone:\n"
        "        print(*lone.pids, flush=True)\n"
        "        await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    root = Path(__file__).parents[2]
    parent = await asyncio.create_subprocess_exec(
        sys.executable,
        str(script),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert parent.stdout is not None
    pids = [int(pid) for pid in (await parent.stdout.readline()).split()]
    assert len(pids) == 2
    assert all(_is_alive(pid) for pid in pids)
    parent.send_signal(signal.SIGKILL)
    await parent.communicate()
    async with asyncio.timeout(10):
        while any(_is_alive(pid) for pid in pids):  # noqa: ASYNC110 - the kernel tells nobody of a stranger's end
            await asyncio.sleep(0.05)


async def _patch_condition(kubectl: Kubectl, namespace: str, changes: dict[str, object]) -> None:
    condition = {
        "type": "Valid",
        "status": "True",
        "reason": "Valid",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    await _patch_status(kubectl, "svcex", namespace, {"conditions": [{**condition, **changes}]})


async def _patch_status(kubectl: Kubectl, kind: str, namespace: str, status: Mapping[str, object]) -> None:
    patch = json.dumps({"status": status})
    await kubectl(
        "patch",
        kind,
        "web",
        "--subresource=status",
        "--type=merge",
        "--namespace",
        namespace,
        "--patch",
        patch,
    )


def _is_alive(pid: int) -> bool:
    """Whether the process exists and is not a zombie (an orphan stays one where nobody reaps it)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
