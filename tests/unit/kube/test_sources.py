"""How a cluster is reached by its kubeconfig is carried over into its registration, whoever registers it."""

from __future__ import annotations

import base64
from pathlib import Path

import yaml

from mcs.cli.reaching import endpoint_of
from mcs.kube.sources import registration_from
from mcs.membership.connecting import Endpoint
from mcs.model.meta import ObjectMeta
from mcs.model.registration import KubeFedClusterSpec, Secret, SecretReference

CA = b"-----BEGIN CERTIFICATE-----"
KUBECONFIG = yaml.safe_dump(
    {
        "current-context": "east",
        "contexts": [{"name": "east", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "clusters": [
            {
                "name": "c",
                "cluster": {
                    "server": "https://east.example.com:6443",
                    "certificate-authority-data": base64.b64encode(CA).decode(),
                    "proxy-url": "http://proxy.example.com:3128",
                    "tls-server-name": "kubernetes",
                },
            }
        ],
    }
)


def test_by_a_labelled_secret() -> None:
    secret = Secret(metadata=ObjectMeta(name="east-kubeconfig"), data={"value": KUBECONFIG.encode()})

    assert registration_from(secret, frozenset()).spec == KubeFedClusterSpec(
        api_endpoint="https://east.example.com:6443",
        ca_bundle=CA,
        secret_ref=SecretReference(name="east-kubeconfig"),
        proxy_url="http://proxy.example.com:3128",
        tls_server_name="kubernetes",
    )


def test_by_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(KUBECONFIG)

    assert endpoint_of([file], "east") == Endpoint(
        server="https://east.example.com:6443",
        ca=CA,
        server_name="kubernetes",
        proxy="http://proxy.example.com:3128",
    )
