"""`mcs join`: make a cluster a member, or give a member new credentials.

Everything that may be in the way is looked for before anything is written, and the ClusterProperties come last: a join
that broke off is simply run again.
"""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

from msgspec import Struct

from mcs.cli.installing import Installer
from mcs.cli.options import parse_clusters, parse_member
from mcs.cli.problems import UserMistakeError, WrongOptionError
from mcs.cli.reaching import Reached, endpoint_of, mistake, reached, registrations
from mcs.cli.telling import carried_out
from mcs.kube.errors import KubeError
from mcs.kube.packaged import definition_documents
from mcs.membership.access import (
    HOME,
    HUB,
    READER,
    Account,
    Federation,
    access_objects,
    accounts_of,
    system_namespace,
)
from mcs.membership.cluster_dns import DNS_NAME, ZONE, dns_objects
from mcs.membership.joining import (
    Newcomer,
    clusterset_of,
    joining_problem,
    properties,
    registration_objects,
)
from mcs.model.federated import CORE_GROUP, SCHEDULING_GROUP
from mcs.model.installed import Manifest, manifest
from mcs.model.names import ClusterId
from mcs.model.resources import KUBEFED_CLUSTERS, SERVICES

REGISTRY_DEFINITION = f"{KUBEFED_CLUSTERS.plural}.{KUBEFED_CLUSTERS.group}"
FEDERATION_GROUPS = (f".{CORE_GROUP}", f".{SCHEDULING_GROUP}")


class JoinOptions(Struct, frozen=True, kw_only=True):
    """What the user may choose. `image` is that of `mcs dns`, None for no DNS."""

    namespace: str
    clusterset: str | None
    image: str | None
    federation: Federation
    token_life: timedelta


class _Member(Struct, frozen=True):
    """A member that takes part in this join: it can be written to, and it is registered elsewhere."""

    newcomer: Newcomer
    at: Installer


class _Entry(Struct, frozen=True):
    """A registration to write: of `member`, at `home`, with a token of `account`."""

    home: Installer
    member: _Member
    account: Account


def join_cluster(
    name: str,
    *,
    context: str | None,
    host_context: str | None,
    mesh: bool,
    peers: Sequence[str],
    kubeconfig: Sequence[Path] | None,
    options: JoinOptions,
    dry_run: bool,
) -> None:
    """Make the cluster of `context` the member `name`. Raises UserMistakeError."""
    cluster = parse_member(name)
    contexts = parse_clusters(peers)
    if contexts and not mesh:
        raise WrongOptionError("--cluster names the other members of a mesh; it needs --mesh")
    if mesh and host_context is not None:
        raise WrongOptionError(
            "in a mesh there is no host: leave --host-context away, and name the members with --cluster"
        )
    if cluster in contexts:
        raise WrongOptionError(f"--cluster {cluster!r} is the one that joins; name only the others")

    async def main(said: list[str]) -> None:
        async with AsyncExitStack() as stack:

            async def reach(id_: str, where: str | None) -> Reached:
                try:
                    return await stack.enter_async_context(reached(id_, kubeconfig, where))
                except (KubeError, TimeoutError) as error:
                    raise mistake(id_, where, error) from error

            newcomer = await reach(cluster, context or cluster)
            joining = _member(newcomer, cluster, kubeconfig, said, dry_run)
            others: list[_Member] = []
            if mesh:
                for id_, where in contexts.items():
                    others.append(_member(await reach(id_, where), id_, kubeconfig, said, dry_run))
                join = Join(joining, others, None, options)
            else:
                host = await reach("host", host_context)
                join = Join(joining, others, Installer(host, said, dry_run=dry_run), options)
            try:
                await join.carry_out(said, dry_run=dry_run)
            except (KubeError, TimeoutError) as error:
                raise mistake(cluster, context or cluster, error) from error

    carried_out(main)


def _member(
    where: Reached, cluster: ClusterId, kubeconfig: Sequence[Path] | None, said: list[str], dry_run: bool
) -> _Member:
    endpoint = endpoint_of(kubeconfig, where.context)
    return _Member(where.newcomer(cluster, endpoint), Installer(where, said, dry_run=dry_run))


class Join:
    """One join: who comes, who is there, and the host, which there is none of in a mesh."""

    def __init__(
        self, joining: _Member, others: Sequence[_Member], host: Installer | None, options: JoinOptions
    ) -> None:
        self._joining = joining
        self._others = others
        self._host = host
        self._options = options

    async def carry_out(self, said: list[str], *, dry_run: bool) -> None:
        """Look, then write. Raises UserMistakeError before the first write when something is in the way."""
        clusterset = await self._clusterset()
        await self._check(clusterset)
        newcomer, at = self._joining.newcomer, self._joining.at
        definitions = {each["metadata"]["name"]: each for each in definition_documents()}
        registry = definitions[REGISTRY_DEFINITION]
        # What else is KubeFed's is of the host alone, and there for those who federate.
        await at.define(each for name, each in definitions.items() if not name.endswith(FEDERATION_GROUPS))
        await at.apply(*self._installed())
        if self._options.image is not None:
            await at.forward(ZONE, manifest(SERVICES, DNS_NAME, self._options.namespace))
        for home in self._homes():
            await home.define([registry])
            await home.apply(system_namespace(self._options.namespace))
        is_known = await self._is_known()
        for entry in self._entries():
            await self._register(entry, clusterset, dry_run=dry_run)
        await at.apply(*properties(newcomer.cluster, clusterset, newcomer.said))
        if not dry_run:
            what = "is a member already, its credentials are new" if is_known else f"has joined {clusterset}"
            said.append(f"{newcomer.cluster}: {what}")

    def _installed(self) -> list[Manifest]:
        """What the newcomer is given, its ClusterProperties apart."""
        options = self._options
        objects = [system_namespace(options.namespace)]
        for account in accounts_of("hub" if self._host else "mesh"):
            # Those of a mesh only read each other.
            federation = options.federation if account is not READER else "none"
            objects += access_objects(account, options.namespace, federation=federation)
        if options.image is not None:
            objects += dns_objects(options.namespace, options.image)
        return objects

    def _homes(self) -> list[Installer]:
        """Where there is a registry that this join writes to."""
        if self._host is not None:
            return [self._host]
        return [each.at for each in (self._joining, *self._others)]

    def _entries(self) -> list[_Entry]:
        """The registrations to write: one in the host, or in a mesh both ways."""
        joining = self._joining
        if self._host is not None:
            return [_Entry(self._host, joining, HUB)]
        both = [
            entry
            for other in self._others
            for entry in (_Entry(other.at, joining, READER), _Entry(joining.at, other, READER))
        ]
        return [_Entry(joining.at, joining, HOME), *both]

    async def _register(self, entry: _Entry, clusterset: str, *, dry_run: bool) -> None:
        namespace, newcomer = self._options.namespace, entry.member.newcomer
        token = ""
        if not dry_run:
            seconds = round(self._options.token_life.total_seconds())
            client = entry.member.at.where.client
            token = await client.create_token(namespace, entry.account.name, seconds)
        await entry.home.apply(*registration_objects(newcomer, clusterset, namespace, token))

    async def _is_known(self) -> bool:
        home, newcomer = self._homes()[-1], self._joining.newcomer
        found = await registrations(home.where.client, self._options.namespace)
        return any(each.metadata.name == newcomer.cluster for each in found)

    async def _clusterset(self) -> str:
        """The clusterset to join: as asked, else that of who is there, else one named by the uid of the first."""
        if self._options.clusterset is not None:
            return self._options.clusterset
        own = self._joining.at.where
        there = [self._host.where] if self._host else [each.at.where for each in self._others]
        for each in there:
            recorded = clusterset_of(await registrations(each.client, self._options.namespace))
            if named := recorded or each.said.clusterset:
                return named
        return own.said.clusterset or (there[0].uid if there else own.uid)

    async def _check(self, clusterset: str) -> None:
        """Raises UserMistakeError for whatever is in the way."""
        namespace, at = self._options.namespace, self._joining.at
        for entry in self._entries():
            present = await registrations(entry.home.where.client, namespace)
            newcomer = entry.member.newcomer
            if problem := joining_problem(newcomer, clusterset, present):
                raise UserMistakeError(f"{newcomer.cluster}: {problem}")
            await entry.home.check(
                each
                for each in registration_objects(newcomer, clusterset, namespace, "")
                if each.resource is not KUBEFED_CLUSTERS
            )
        await at.check(self._installed())
        if self._options.image is not None:
            await at.check_corefile(ZONE)
