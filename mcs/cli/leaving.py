"""`mcs leave`: end a membership, in the registry first, then in the member itself.

The controller withdraws what came from a member when its registration is deleted; the finalizer keeps the registration
until that is done. What is in the member is removed from here, with the user's own credentials.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Literal

from msgspec import Struct

from mcs.cli.installing import PATIENCE, Installer
from mcs.cli.options import parse_clusters, parse_member
from mcs.cli.problems import UserMistakeError, WrongOptionError
from mcs.cli.reaching import POLL, Reached, all_of, mistake, reached, registrations, until_gone
from mcs.cli.telling import carried_out
from mcs.kube.errors import Conflict, KubeError, NotFound, ResourceMissing
from mcs.membership.access import FEDERATION_LABEL
from mcs.membership.cluster_dns import ZONE
from mcs.membership.joining import secret_name
from mcs.membership.leaving import (
    IMPORTED,
    access_left,
    dns_left,
    is_member,
    leaving_problem,
    properties_left,
    still_used,
    strangers,
)
from mcs.model.installed import CLUSTER_ROLES, CONFIG_MAPS, DEPLOYMENTS, SERVICE_ACCOUNTS
from mcs.model.names import MANAGED_BY, MANAGED_BY_LABEL, ClusterId
from mcs.model.registration import DRAINED_ANNOTATION, LEAVE_FINALIZER, KubeFedCluster
from mcs.model.resources import (
    ENDPOINT_SLICES,
    KUBEFED_CLUSTERS,
    NAMESPACES,
    SECRETS,
    SERVICES,
)

OURS = f"{MANAGED_BY_LABEL}={MANAGED_BY}"
Manner = Literal["plain", "drain", "orphan"]


class LeaveOptions(Struct, frozen=True, kw_only=True):
    """How to leave. With `force` a member that cannot be reached, or is another cluster by now, holds nothing up.

    In a `mesh` every member has a registry of its own.
    """

    namespace: str
    manner: Manner
    force: bool
    wait: bool
    mesh: bool


def leave_clusters(
    names: Sequence[str],
    *,
    every: bool,
    context: str | None,
    host_context: str | None,
    members: Sequence[str],
    kubeconfig: Sequence[Path] | None,
    options: LeaveOptions,
    dry_run: bool,
) -> None:
    """End the memberships of the named clusters, or of all. Raises UserMistakeError.

    `members` names the other members with their contexts: those to look at while draining, and in a mesh all of them.
    """
    clusters = [parse_member(name) for name in names]
    if every == bool(clusters):
        raise WrongOptionError("name one member that is to leave, or give --all")
    if every and context is not None:
        raise WrongOptionError(
            "--context is for one member; with --all name the contexts with --cluster ID=CONTEXT"
        )
    contexts = parse_clusters(members)
    if options.mesh and (every or host_context is not None):
        raise WrongOptionError(
            "of a mesh one member leaves at a time, and there is no host: --all and --host-context are out"
        )
    if options.mesh:
        others = [where for other, where in contexts.items() if other not in clusters]
        host_context = others[0] if others else context or clusters[0]

    async def main(said: list[str]) -> None:
        async with AsyncExitStack() as stack:
            try:
                host = await stack.enter_async_context(reached("host", kubeconfig, host_context))
            except (KubeError, TimeoutError) as error:
                raise mistake("host", host_context, error) from error
            leave = Leave(host, kubeconfig, contexts, options, said, dry_run=dry_run)
            try:
                present = await registrations(host.client, options.namespace)
                for cluster in [each.cluster for each in present] if every else clusters:
                    where = context or contexts.get(cluster) or cluster
                    registered = next((each for each in present if each.cluster == cluster), None)
                    await leave.carry_out(cluster, where, registered)
            except (KubeError, TimeoutError) as error:
                raise mistake("host", host_context, error) from error

    carried_out(main)


class Leave:
    """Leaves of one registry; carried out one after the other."""

    def __init__(
        self,
        host: Reached,
        kubeconfig: Sequence[Path] | None,
        contexts: dict[ClusterId, str],
        options: LeaveOptions,
        said: list[str],
        *,
        dry_run: bool,
    ) -> None:
        self._host = Installer(host, said, dry_run=dry_run)
        self._kubeconfig = kubeconfig
        self._contexts = contexts
        self._options = options
        self._said = said
        self._dry_run = dry_run

    async def carry_out(self, cluster: ClusterId, context: str, registered: KubeFedCluster | None) -> None:
        """End one membership; what has been done before is not done again."""
        async with AsyncExitStack() as stack:
            member = await self._member(stack, cluster, context, registered)
            if registered is None and (member is None or not is_member(None, member.said)):
                self._tell(cluster, "is no member; there is nothing to leave")
                return
            if self._options.manner == "drain" and registered is not None:
                await self._drain(stack, registered)
            is_gone = await self._unregister(self._host, registered)
            for other in await self._others(stack, cluster) if self._options.mesh else ():
                found = await registrations(other.where.client, self._options.namespace)
                await self._unregister(other, next((each for each in found if each.cluster == cluster), None))
            if member is not None:
                await self._clear(Installer(member, self._said, dry_run=self._dry_run))
            if self._dry_run:
                return
            self._tell(cluster, "has left" if is_gone else self._waiting(cluster))
            if self._options.wait and not is_gone:
                raise UserMistakeError(
                    f"{cluster}: its registration is still there after {PATIENCE:g} s; is mcs controller "
                    "--registry running?"
                )

    def _waiting(self, cluster: ClusterId) -> str:
        return (
            "leaves; the controller withdraws what came from it, and its registration goes when that is done"
        )

    def _tell(self, cluster: ClusterId, remark: str) -> None:
        self._said.append(f"# {cluster}: {remark}" if self._dry_run else f"{cluster}: {remark}")

    async def _member(
        self, stack: AsyncExitStack, cluster: ClusterId, context: str, registered: KubeFedCluster | None
    ) -> Reached | None:
        """The member itself; None where it cannot be reached, or is not it any more, and that shall not matter."""
        try:
            member = await stack.enter_async_context(reached(cluster, self._kubeconfig, context))
            problem = leaving_problem(cluster, registered, member.uid, member.said)
            error = UserMistakeError(f"{cluster}: {problem}")
        except (KubeError, TimeoutError) as failure:
            member, problem, error = None, str(failure), mistake(cluster, context, failure)
        except UserMistakeError as failure:
            member, problem, error = None, str(failure), failure
        if not problem:
            return member
        if not self._options.force:
            raise UserMistakeError(f"{error}; or give --force, which leaves what is in the member as it is")
        self._tell(cluster, f"left as it is, since {problem}")
        return None

    async def _others(self, stack: AsyncExitStack, cluster: ClusterId) -> list[Installer]:
        """The other members that were named, but for the one that stands for the host."""
        found = []
        for other, context in self._contexts.items():
            if other == cluster:
                continue
            try:
                where = await stack.enter_async_context(reached(other, self._kubeconfig, context))
            except (KubeError, TimeoutError) as error:
                raise mistake(other, context, error) from error
            if where.uid != self._host.where.uid:
                found.append(Installer(where, self._said, dry_run=self._dry_run))
        return found

    async def _drain(self, stack: AsyncExitStack, registered: KubeFedCluster) -> None:
        """Have its endpoints withdrawn, and wait until no member that was named uses them any more."""
        name, namespace = registered.metadata.name, registered.metadata.namespace
        watched = await self._others(stack, registered.cluster)
        if self._dry_run:
            self._tell(registered.cluster, f"would be drained first ({DRAINED_ANNOTATION})")
            return
        changes = {"metadata": {"annotations": {DRAINED_ANNOTATION: "true"}}}
        for home in (self._host, *(watched if self._options.mesh else ())):
            try:
                await home.where.client.patch(KUBEFED_CLUSTERS, namespace, name, changes)
            except (NotFound, ResourceMissing):
                continue
        loop = asyncio.get_running_loop()
        end = loop.time() + PATIENCE
        looked_at = [self._host, *watched]
        while True:
            left = 0
            for each in looked_at:
                slices = await all_of(each.where.client, ENDPOINT_SLICES, OURS)
                left += still_used(registered.cluster, slices)
            if not left:
                return
            if loop.time() > end:
                raise UserMistakeError(
                    f"{registered.cluster}: {left} of its endpoints are still used after {PATIENCE:g} s; "
                    "is mcs controller "
                    "--registry running? It goes on draining; leave without --drain to go at once"
                )
            await asyncio.sleep(POLL)

    async def _unregister(self, home: Installer, registered: KubeFedCluster | None) -> bool:
        """Delete the registration and its Secret; whether the registration is gone."""
        if registered is None:
            return True
        namespace, name = registered.metadata.namespace, registered.metadata.name
        client = home.where.client
        if self._dry_run:
            await home.delete(KUBEFED_CLUSTERS, namespace, name)
        elif self._options.manner == "orphan":
            await self._delete_unrecorded(home, registered)
        else:
            await client.delete(KUBEFED_CLUSTERS, namespace, name, uid=registered.metadata.uid)
        is_gone = self._dry_run or await until_gone(
            client, KUBEFED_CLUSTERS, namespace, name, PATIENCE if self._options.wait else POLL
        )
        await home.delete(SECRETS, namespace, secret_name(registered.cluster))
        return is_gone

    async def _delete_unrecorded(self, home: Installer, registered: KubeFedCluster) -> None:
        """Delete the registration without its finalizer: to the controller, no leave, so that it withdraws nothing."""
        client, metadata = home.where.client, registered.metadata
        while True:
            try:
                found = await client.get(KUBEFED_CLUSTERS, metadata.namespace, metadata.name)
                finalizers = [each for each in found.metadata.finalizers if each != LEAVE_FINALIZER]
                changes = {
                    "metadata": {"finalizers": finalizers, "resourceVersion": found.metadata.resource_version}
                }
                bare = await client.patch(KUBEFED_CLUSTERS, metadata.namespace, metadata.name, changes)
                await client.delete(
                    KUBEFED_CLUSTERS,
                    metadata.namespace,
                    metadata.name,
                    uid=bare.metadata.uid,
                    resource_version=bare.metadata.resource_version,
                )
            except Conflict:
                continue
            except NotFound:
                pass
            return

    async def _clear(self, member: Installer) -> None:
        """Remove what is ours from the member: who may write first, who it was last.

        Orphaned, it keeps what it has imported and what answers for it, and only lets nobody in any more.
        """
        namespace = self._options.namespace
        for resource, name in access_left():
            await member.delete(resource, namespace, name)
        roles = await self._ours(member, CLUSTER_ROLES, f"{FEDERATION_LABEL}=true")
        await member.delete_all([CLUSTER_ROLES] * len(roles), roles)
        if self._options.manner == "orphan":
            return
        await self._clear_registry(member)
        for resource in IMPORTED:
            found = await self._ours(member, resource)
            await member.delete_all([resource] * len(found), found)
        await member.forward_no_more(ZONE)
        for resource, name in dns_left():
            await member.delete(resource, namespace, name)
        await self._clear_namespace(member)
        for resource, name in properties_left():
            await member.delete(resource, "", name)

    async def _clear_registry(self, member: Installer) -> None:
        """The member's own registry in a mesh. Nobody works by it any more, so its finalizers hold nothing up."""
        if not self._options.mesh:
            return
        for each in await registrations(member.where.client, self._options.namespace):
            if not self._dry_run:
                await self._delete_unrecorded(member, each)
            await member.delete(SECRETS, self._options.namespace, secret_name(each.cluster))

    async def _ours(self, member: Installer, resource: object, selector: str = "") -> list[object]:
        selectors = ",".join(filter(None, (OURS, selector)))
        try:
            return await all_of(member.where.client, resource, selectors)  # type: ignore[arg-type]
        except (NotFound, ResourceMissing):
            return []

    async def _clear_namespace(self, member: Installer) -> None:
        """Delete the system namespace if it is ours and holds nothing of others; never that of the registry."""
        namespace, client = self._options.namespace, member.where.client
        if member.where.uid == self._host.where.uid and not self._options.mesh:
            return
        kinds = (CONFIG_MAPS, SECRETS, SERVICES, SERVICE_ACCOUNTS, DEPLOYMENTS)
        present = [
            (resource.kind, each)
            for resource in kinds
            for each in await all_of(client, resource)
            if each.metadata.namespace == namespace
        ]
        if found := strangers(present):
            member.tell(f"its namespace {namespace} was left: it holds {', '.join(found)}")
            return
        if not await member.delete(NAMESPACES, "", namespace):
            return
        if self._options.wait and not self._dry_run:
            await until_gone(client, NAMESPACES, "", namespace, PATIENCE)
