"""Makes registrations of kubeconfigs: of those in labelled Secrets of the host, and of those in files.

What a kubeconfig says is read in `mcs.kube.sources`. A registration that was made stays when its kubeconfig goes: that
something is missing is no leave.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import structlog
from msgspec.structs import replace

from mcs.kube.errors import ConfigError
from mcs.kube.sources import registration_from, secrets_from
from mcs.membership.recording import HOST
from mcs.model.actions import Action, Apply, RecordEvent
from mcs.model.events import new_event
from mcs.model.registration import KUBECONFIG_LABEL, KubeFedCluster, Secret
from mcs.model.resources import KUBEFED_CLUSTERS, SECRETS

log = structlog.get_logger(__name__)

FOLDER_PERIOD = 10.0
"""Seconds after which files are read again."""


class KubeconfigSources:
    """Plans what has to be written so that every kubeconfig is registered. `on_read` is called when files changed."""

    def __init__(
        self,
        namespace: str,
        folders: Sequence[Path],
        allowed_programs: frozenset[str],
        on_read: Callable[[], None],
    ) -> None:
        self._namespace = namespace
        self._folders = folders
        self._allowed = allowed_programs
        self._on_read = on_read
        self._from_files: tuple[Secret, ...] = ()
        self._problems_of_files: list[str] = []
        self._problems: Mapping[str, str] = {}

    async def run(self) -> None:
        """Read the files again and again, if there are to be any, until cancelled."""
        while self._folders:
            found, problems = await asyncio.to_thread(secrets_from, self._folders, self._namespace)
            for problem in problems:
                if problem not in self._problems_of_files:
                    log.error("kubeconfig refused", problem=problem)
            self._problems_of_files = problems
            if tuple(found) != self._from_files:
                self._from_files = tuple(found)
                self._on_read()
            await asyncio.sleep(FOLDER_PERIOD)

    def plan(
        self, secrets: Iterable[Secret], registrations: Iterable[KubeFedCluster], now: str
    ) -> tuple[Action, ...]:
        """Secrets of files, and registrations of labelled Secrets, as far as they differ from what there is."""
        held = {each.metadata.name: each for each in secrets}
        present = {each.metadata.name: each for each in registrations}
        actions: list[Action] = []
        for secret in self._from_files:
            before = held.get(secret.metadata.name)
            if before is None or (before.is_ours and before.data != secret.data):
                actions.append(Apply(cluster=HOST, resource=SECRETS, object=secret))
        problems: dict[str, str] = {}
        for secret in sorted(held.values(), key=lambda each: each.metadata.name):
            if secret.metadata.labels.get(KUBECONFIG_LABEL) != "true":
                continue
            try:
                registration = registration_from(secret, self._allowed)
            except ConfigError as error:
                problems[secret.metadata.name] = str(error)
                if self._problems.get(secret.metadata.name) != str(error):
                    log.error("kubeconfig refused", problem=str(error))
                    actions.append(_event(secret, str(error), now))
                continue
            if _is_to_be_written(registration, present.get(registration.metadata.name)):
                actions.append(Apply(cluster=HOST, resource=KUBEFED_CLUSTERS, object=registration))
        self._problems = problems
        return tuple(actions)


def _is_to_be_written(wanted: KubeFedCluster, present: KubeFedCluster | None) -> bool:
    """False also for a registration that somebody else wrote, or that is going: it is not touched."""
    if present is None:
        return True
    if not present.is_ours or present.is_terminating or present.spec.secret_ref != wanted.spec.secret_ref:
        return False
    # Zones and region are the operator's to give.
    return replace(present.spec, zones=(), region="") != wanted.spec


def _event(secret: Secret, problem: str, now: str) -> RecordEvent:
    about = SECRETS.reference(secret.metadata)
    event = new_event(
        about, "Warning", "KubeconfigRefused", problem, now, namespace=secret.metadata.namespace
    )
    return RecordEvent(cluster=HOST, about=SECRETS, object=event)
