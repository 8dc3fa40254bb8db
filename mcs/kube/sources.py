"""Registrations out of kubeconfigs: of a labelled Secret, and of files, which become such Secrets first.

Reading files is here, connecting is not. A kubeconfig in a Secret may neither read files nor run programs, see
`mcs.kube.kubeconfig`.
"""

import base64
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from mcs.kube.errors import ConfigError
from mcs.kube.kubeconfig import DATA_FIELDS, ChosenContext, choose_context, context_names, sanitised_context
from mcs.model.meta import ObjectMeta
from mcs.model.names import MANAGED_BY, MANAGED_BY_LABEL, cluster_id_error
from mcs.model.registration import (
    ANY_VALIDATION,
    KUBECONFIG_LABEL,
    KUBECONFIG_VALUE_KEY,
    KubeFedCluster,
    KubeFedClusterSpec,
    Secret,
    SecretReference,
)

SUFFIX = "-kubeconfig"
"""What is left away from the name of a Secret for that of its registration."""

_FILES = ("*.kubeconfig", "*.yaml", "*.yml", "config")


def registration_from(secret: Secret, allowed_programs: frozenset[str]) -> KubeFedCluster:
    """The registration that a Secret with KUBECONFIG_LABEL stands for; it refers to that Secret. Raises ConfigError."""
    name, value = secret.metadata.name, secret.data.get(KUBECONFIG_VALUE_KEY, b"")
    where = Path(f"Secret {name}")
    if not value:
        raise ConfigError(f'it has no "{KUBECONFIG_VALUE_KEY}"; put the kubeconfig there', file=where)
    chosen = sanitised_context(value.decode("utf-8", "replace"), str(where), allowed_programs)
    cluster = chosen.cluster
    try:
        ca = base64.b64decode(
            "".join(str(cluster.get("certificate-authority-data") or "").split()), validate=True
        )
    except ValueError as error:
        raise ConfigError("certificate-authority-data is not base64; write it again", file=where) from error
    is_checked = not cluster.get("insecure-skip-tls-verify")
    return KubeFedCluster(
        metadata=ObjectMeta(
            name=name.removesuffix(SUFFIX),
            namespace=secret.metadata.namespace,
            labels={MANAGED_BY_LABEL: MANAGED_BY},
        ),
        spec=KubeFedClusterSpec(
            api_endpoint=cluster["server"],
            ca_bundle=ca,
            secret_ref=SecretReference(name=name),
            disabled_tls_validations=() if is_checked else (ANY_VALIDATION,),
            proxy_url=cluster.get("proxy-url") or "",
            tls_server_name=cluster.get("tls-server-name") or "",
        ),
    )


def secrets_from(folders: Sequence[Path], namespace: str) -> tuple[list[Secret], list[str]]:
    """A labelled Secret for each context of the kubeconfigs in folders, or of files, and what is wrong with others.

    A context is named by itself. Of two with the same name the first counts, in the order of files.
    """
    found: dict[str, Secret] = {}
    problems: list[str] = []
    for file in _files(folders):
        try:
            for name in context_names(file):
                if problem := cluster_id_error(name):
                    raise ConfigError(f"{problem}, as the name of the context", file=file, context=name)
                if name in found:
                    raise ConfigError("another file has it already; rename one", file=file, context=name)
                found[name] = _secret(name, namespace, choose_context([file], name))
        except ConfigError as error:
            problems.append(str(error))
    return list(found.values()), problems


def _files(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        if folder.is_dir():
            yield from sorted({file for pattern in _FILES for file in folder.glob(pattern) if file.is_file()})
        else:
            yield folder


def _secret(name: str, namespace: str, chosen: ChosenContext) -> Secret:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": _with_contents(chosen.cluster)}],
        "users": [{"name": name, "user": _with_contents(chosen.user)}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return Secret(
        metadata=ObjectMeta(
            name=f"{name}{SUFFIX}",
            namespace=namespace,
            labels={MANAGED_BY_LABEL: MANAGED_BY, KUBECONFIG_LABEL: "true"},
        ),
        type="Opaque",
        data={KUBECONFIG_VALUE_KEY: yaml.safe_dump(document).encode()},
    )


def _with_contents(part: dict[str, object]) -> dict[str, object]:
    """With what files hold in the place of their paths: who reads the Secret has no such files."""
    result = dict(part)
    try:
        for key in DATA_FIELDS:
            if path := result.pop(key, None):
                result.setdefault(f"{key}-data", base64.b64encode(Path(str(path)).read_bytes()).decode())
        if path := result.pop("tokenFile", None):
            result.setdefault("token", Path(str(path)).read_text().strip())
    except OSError as error:
        raise ConfigError(f"cannot be read: {error}") from error
    return result
