"""Which types of a host cluster are enabled, and which of them a word on the command line means."""

from collections.abc import Sequence

from mcs.cli.problems import UserMistakeError
from mcs.cli.reaching import Reached, all_of
from mcs.kube.discovery import Discovered, discovered
from mcs.kube.errors import NotFound, ResourceMissing
from mcs.model.discovery import KindError, ServedKind, kind_named
from mcs.model.federated import FEDERATED_TYPE_CONFIGS, APIResource, FederatedTypeConfig


async def type_configs(where: Reached, namespace: str) -> list[FederatedTypeConfig]:
    """The types of a host, sorted by name; none where there is no such definition."""
    try:
        found = await all_of(where.client, FEDERATED_TYPE_CONFIGS)
    except (NotFound, ResourceMissing):
        return []
    return sorted(
        (each for each in found if each.metadata.namespace == namespace), key=lambda each: each.metadata.name
    )


async def served_kind(where: Reached, text: str, version: str = "") -> ServedKind:
    """The kind that a word means to an API server. Raises UserMistakeError."""
    found = await discovered(where.client.connection)
    return kind_among(where, text, found, version)


def kind_among(where: Reached, text: str, found: Discovered, version: str = "") -> ServedKind:
    """The same when it has told already what it serves. Raises UserMistakeError."""
    try:
        return kind_named(text, found.kinds, version)
    except KindError as error:
        down = f" (nor what is in {', '.join(found.silent)}: who serves that is down)" if found.silent else ""
        raise UserMistakeError(f"{where.name}: {error}{down}") from error


async def enabled_type(where: Reached, text: str, namespace: str) -> FederatedTypeConfig:
    """The type that a word means, be it a name of the target or of the federated kind. Raises UserMistakeError.

    A type that its API server serves no longer is found by its plural and its kind.
    """
    configs = await type_configs(where, namespace)
    found = await discovered(where.client.connection)
    try:
        name = kind_named(text, list(_kinds(configs, found.kinds))).name
    except KindError as error:
        known = ", ".join(each.metadata.name for each in configs) or "none"
        raise UserMistakeError(
            f"host: no type that is enabled is called {text!r} (there are: {known})"
        ) from error
    return next(each for each in configs if name in _names(each))


def _kinds(configs: Sequence[FederatedTypeConfig], served: Sequence[ServedKind]) -> list[ServedKind]:
    names = {name for config in configs for name in _names(config)}
    told = [
        _kind(each) for config in configs for each in (config.spec.target_type, config.spec.federated_type)
    ]
    return [*(each for each in served if each.name in names), *told]


def _kind(resource: APIResource) -> ServedKind:
    return ServedKind(
        group=resource.group,
        version=resource.version,
        kind=resource.kind,
        plural=resource.plural_name,
        singular=resource.kind.lower(),
        namespaced=resource.scope == "Namespaced",
    )


def _names(config: FederatedTypeConfig) -> tuple[str, str]:
    return _kind(config.spec.target_type).name, _kind(config.spec.federated_type).name
