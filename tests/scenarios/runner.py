"""Runs a scenario: its steps in order, each a mapping with one verb.

apply: {in: [clusters], objects: [short forms], for: n}  patch: {in: …, object: "Kind ns/name", with: {…}}
delete: {in: …, object: "Kind ns/name"}              wait: seconds
controller: {start: [members], auto export: labels, unreachable: drain | keep, grace: seconds} | stop
                                                     api: {of: cluster, do: compact | drop watches | stop | start |
rival: the same, of a second controller                   refuse watches | allow watches | define | hang}
mesh: the same, of one controller in each member, or in those in `of: […]`
expect: {cluster: {…}}                               remember: [clusters]
expect in: {seconds: number, of: {cluster: {…}}}     the same with another patience
untouched: {in: …, objects: […]}                     quiet: seconds
kept: {in: …, objects: […]}                          repeat: {times: number, steps: […]}
mirrors untouched: {in: …, services: [ns/name]}      delete mirrors: {in: …, service: ns/name}
mirrors kept: {in: …, services: [ns/name]}
same since: {in: …, conditions: [ns/name Type]}      changed: {in: …, at most: number}

`expect` says of a cluster what its API and its DNS shall say, and waits for it, at most `patience` seconds:
    "Kind ns/name": {part of the object} | absent
    conditions ns/name: {Valid: "True Valid", …}       of the ServiceExport
    mirrors ns/name: {source cluster: [ready addresses]}
    endpoints ns/name: {source cluster: [part of each endpoint of its mirrors]}
    ports ns/name: {source cluster: ["name port", …]}  of its mirrors, sorted
    sizes ns/name: {source cluster: [mirrors, ready addresses in all of them]}
    imports: number                                    of ServiceImports
    message ns/name Type: ["part", …]                  of that condition of the ServiceExport; nothing unprintable in it
    families ns/name: [IPv4, IPv6]                     of the ips of the ServiceImport, one by one
    state: "refused"                                   of the cluster, as the controller has it
    events ns/name: ["Kind Reason", …]                 all that were told of the objects of that name, sorted
    dns: {"web.shop.svc A": [data] | NXDOMAIN | NODATA | imported | number of records}
                                                       "imported": the ips of the ServiceImport
With `for: n` objects are applied n times, `<n>` in them being 1 to n.
`remember` keeps uid and resourceVersion of everything of ours; `untouched` demands that they are still the same,
`kept` that they are still the same objects with the same addresses, whatever else was written, `same since` that
conditions have the same lastTransitionTime; `changed` counts what came, went or was written since.
`quiet` demands that nothing but Leases is written for so long. Every scenario ends with 60 quiet seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from ipaddress import ip_address
from itertools import chain
from typing import Any, NamedTuple

from mcs.membership.policy import parse_policy
from mcs.membership.withdrawal import Terms
from mcs.model.names import SERVICE_NAME_LABEL, SOURCE_CLUSTER_LABEL
from mcs.model.resources import (
    ENDPOINT_SLICES,
    EVENTS,
    NAMESPACES,
    SERVICE_EXPORTS,
    SERVICE_IMPORTS,
    SERVICES,
)
from tests.scenarios.objects import Json, expanded, numbered, parse_reference
from tests.scenarios.world import Programs


class Version(NamedTuple):
    """What tells whether an object is the same one, and whether it was written meanwhile."""

    uid: str
    resource_version: str
    addresses: tuple[str, ...]
    transitions: tuple[tuple[str, str], ...]
    """Type and lastTransitionTime of each condition."""


class Scenario:
    """One scenario against one world."""

    def __init__(self, world: Programs) -> None:
        self._world = world
        self._remembered: dict[tuple[str, str], Version] = {}
        self._reads: dict[str, Callable[[str, str], Awaitable[Any]]] = {
            "mirrors": self._mirrors,
            "ports": self._mirrored_ports,
            "sizes": self._sizes,
            "imports": self._imports,
            "families": self._families,
            "state": self._state,
            "events": self._events,
        }
        """What is compared whole, by the word that a scenario begins with."""

    async def run(self, steps: Iterable[Json]) -> None:
        """Carry out all steps. Raises AssertionError with the number of the step that does not hold."""
        await self._carry_out([*steps, {"wait": 5}, {"quiet": 60}])

    async def _carry_out(self, steps: Iterable[Json]) -> None:
        for number, step in enumerate(steps, start=1):
            ((verb, what),) = step.items()
            try:
                await getattr(self, f"_{verb.replace(' ', '_')}")(what)
            except AssertionError as error:
                raise AssertionError(f"step {number} ({verb}): {error}") from error

    async def _repeat(self, what: Json) -> None:
        for _ in range(what["times"]):
            await self._carry_out(what["steps"])

    async def _apply(self, what: Json) -> None:
        for cluster in _listed(what["in"]):
            numbers = range(1, what.get("for", 1) + 1)
            await asyncio.gather(*(self._apply_in(cluster, numbered(what["objects"], n)) for n in numbers))

    async def _apply_in(self, cluster: str, shorts: Iterable[Json]) -> None:
        for short in shorts:
            await self._world.apis[cluster].apply(*expanded(short))

    async def _patch(self, what: Json) -> None:
        for cluster in _listed(what["in"]):
            await self._world.apis[cluster].merge(*parse_reference(what["object"]), what["with"])

    async def _delete(self, what: Json) -> None:
        for cluster in _listed(what["in"]):
            resource, namespace, name = parse_reference(what["object"])
            await self._world.apis[cluster].delete(resource, namespace, name)
            if resource is NAMESPACES:
                await self._world.empty_namespace(cluster, name)

    async def _wait(self, seconds: float) -> None:
        await self._world.pass_time(seconds)

    async def _controller(self, what: Json | str) -> None:
        if isinstance(what, dict):
            terms = Terms(what.get("unreachable", "drain"), timedelta(seconds=what.get("grace", 300)))
            policy = parse_policy(what.get("policy"))
            await self._world.start_controller(what["start"], what.get("auto export"), terms, policy)
        else:
            await self._world.stop_controller()

    async def _rival(self, what: Json | str) -> None:
        if isinstance(what, dict):
            await self._world.start_rival(what["start"])
        else:
            await self._world.stop_rival()

    async def _mesh(self, what: Json | str) -> None:
        if isinstance(what, dict):
            await self._world.start_mesh(what["start"], what["of"] if "of" in what else what["start"])
        else:
            await self._world.stop_mesh()

    async def _api(self, what: Json) -> None:
        await self._world.order(what["of"], what["do"])

    async def _expect_in(self, what: Json) -> None:
        await self._expect(what["of"], what["seconds"])

    async def _expect(self, what: Json, seconds: float | None = None) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + (self._world.patience if seconds is None else seconds)
        while True:
            began = loop.time()
            problems = [
                problem
                for cluster, wanted in what.items()
                for problem in await self._problems(cluster, wanted)
            ]
            if not problems:
                return
            assert loop.time() < end, "\n".join(problems)
            await asyncio.sleep(max(0.25, loop.time() - began))

    async def _remember(self, clusters: list[str]) -> None:
        self._remembered = {
            (cluster, reference): version
            for cluster in clusters
            for reference, version in (await self._versions(cluster)).items()
        }

    async def _untouched(self, what: Json) -> None:
        for cluster in _listed(what["in"]):
            versions = await self._versions(cluster)
            for reference in what["objects"]:
                before = self._remembered[cluster, reference]
                assert versions.get(reference) == before, f"{cluster}: {reference} was {before}"

    async def _kept(self, what: Json) -> None:
        for cluster in _listed(what["in"]):
            versions = await self._versions(cluster)
            for reference in what["objects"]:
                before, now = self._remembered[cluster, reference], versions.get(reference)
                is_same = now is not None and (now.uid, now.addresses) == (before.uid, before.addresses)
                assert is_same, f"{cluster}: {reference} was {before}, is {now}"

    async def _same_since(self, what: Json) -> None:
        for cluster in _listed(what["in"]):
            versions = await self._versions(cluster)
            for each in what["conditions"]:
                service, type_ = each.split()
                reference = f"ServiceExport {service}"
                before = dict(self._remembered[cluster, reference].transitions)[type_]
                now = dict(versions[reference].transitions)[type_]
                assert now == before, f"{cluster}: {each} was of {before}, is of {now}"

    async def _changed(self, what: Json) -> None:
        for cluster in _listed(what["in"]):
            before = {of: version for (where, of), version in self._remembered.items() if where == cluster}
            changed = sorted({of for of, _ in before.items() ^ (await self._versions(cluster)).items()})
            assert len(changed) <= what["at most"], f"{cluster}: {changed} changed"

    async def _mirrors_untouched(self, what: Json) -> None:
        await self._same_mirrors(what, "uid", "resourceVersion")

    async def _mirrors_kept(self, what: Json) -> None:
        await self._same_mirrors(what, "uid")

    async def _same_mirrors(self, what: Json, *fields: str) -> None:
        before = {each[: len(fields)] for each in self._remembered.values()}
        for cluster in _listed(what["in"]):
            for service in what["services"]:
                slices = await self._mirror_slices(cluster, service)
                now = {tuple(obj["metadata"][field] for field in fields) for _, obj in slices}
                assert now, f"{cluster}: {service} has no mirrors"
                assert now <= before, f"{cluster}: mirrors of {service} are {now}"

    async def _delete_mirrors(self, what: Json) -> None:
        for cluster in _listed(what["in"]):
            for _, obj in await self._mirror_slices(cluster, what["service"]):
                meta = obj["metadata"]
                await self._world.apis[cluster].delete(ENDPOINT_SLICES, meta["namespace"], meta["name"])

    async def _quiet(self, seconds: float) -> None:
        before = await self._world.written()
        await self._world.pass_time(seconds)
        after = await self._world.written()
        assert after == before, f"writes went from {before} to {after}"

    async def _versions(self, cluster: str) -> dict[str, Version]:
        versions: dict[str, Version] = {}
        for resource in (SERVICES, SERVICE_IMPORTS, ENDPOINT_SLICES, SERVICE_EXPORTS):
            for obj in await self._world.apis[cluster].list(resource):
                meta = obj["metadata"]
                reference = f"{resource.kind} {meta['namespace']}/{meta['name']}"
                spec = obj.get("spec", {})
                addresses = tuple(spec.get("ips") or spec.get("clusterIPs") or ())
                transitions = tuple(
                    (each["type"], each["lastTransitionTime"])
                    for each in obj.get("status", {}).get("conditions", ())
                )
                versions[reference] = Version(meta["uid"], meta["resourceVersion"], addresses, transitions)
        return versions

    async def _problems(self, cluster: str, wanted: Json) -> list[str]:
        problems: list[str] = []
        for what, value in wanted.items():
            subject, _, name = what.partition(" ")
            if (read := self._reads.get(subject)) is not None:
                problems.append(_difference(f"{cluster} {what}", await read(cluster, name), value))
                continue
            match subject:
                case "dns":
                    problems += [
                        await self._dns_problem(cluster, question, answer)
                        for question, answer in value.items()
                    ]
                case "endpoints":
                    endpoints = await self._mirrored_endpoints(cluster, name)
                    problems += [f"{cluster} {what}{path}" for path in _lacks(endpoints, value)]
                case "message":
                    problems += await self._message_problems(cluster, name, value)
                case "conditions":
                    problems += await self._condition_problems(cluster, name, value)
                case _:
                    problems += await self._object_problems(cluster, what, value)
        return [problem for problem in problems if problem]

    async def _dns_problem(self, cluster: str, question: str, wanted: Any) -> str:
        name, kind = question.split()
        if wanted == "imported":
            service, namespace = name.split(".")[:2]
            found = await self._world.apis[cluster].get(SERVICE_IMPORTS, namespace, service)
            wanted = (found or {}).get("spec", {}).get("ips") or "an import with ips"
            family = ":" if kind == "AAAA" else "."
            wanted = [ip for ip in wanted if family in ip] if isinstance(wanted, list) else wanted
        wanted = sorted(wanted) if isinstance(wanted, list) else wanted
        answer = await self._world.ask(cluster, name, kind)
        if isinstance(wanted, int) and isinstance(answer, list):
            return _difference(f"{cluster} dns {question}, number of records", len(answer), wanted)
        return _difference(f"{cluster} dns {question}", answer, wanted)

    async def _mirrors(self, cluster: str, service: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for source, obj in await self._mirror_slices(cluster, service):
            found.setdefault(source, []).extend(_ready_addresses(obj))
        return {source: sorted(ready) for source, ready in sorted(found.items())}

    async def _sizes(self, cluster: str, service: str) -> dict[str, list[int]]:
        found: dict[str, list[list[str]]] = {}
        for source, obj in await self._mirror_slices(cluster, service):
            found.setdefault(source, []).append(_ready_addresses(obj))
        return {source: [len(each), len(set(chain(*each)))] for source, each in found.items()}

    async def _mirrored_endpoints(self, cluster: str, service: str) -> dict[str, list[Json]]:
        found: dict[str, list[Json]] = {}
        for source, obj in await self._mirror_slices(cluster, service):
            found.setdefault(source, []).extend(obj.get("endpoints") or [])
        return found

    async def _mirrored_ports(self, cluster: str, service: str) -> dict[str, list[str]]:
        found: dict[str, set[str]] = {}
        for source, obj in await self._mirror_slices(cluster, service):
            ports = [f"{port.get('name', '')} {port['port']}".strip() for port in obj.get("ports") or []]
            found.setdefault(source, set()).update(ports)
        return {source: sorted(ports) for source, ports in sorted(found.items())}

    async def _mirror_slices(self, cluster: str, service: str) -> list[tuple[str, Json]]:
        """The mirrors of one service, each with the cluster that it comes from."""
        namespace, name = service.split("/")
        return [
            (obj["metadata"]["labels"][SOURCE_CLUSTER_LABEL], obj)
            for obj in await self._world.apis[cluster].list(ENDPOINT_SLICES, f"{SERVICE_NAME_LABEL}={name}")
            if obj["metadata"]["namespace"] == namespace
        ]

    async def _events(self, cluster: str, service: str) -> list[str]:
        namespace, name = service.split("/")
        return sorted(
            f"{about['kind']} {event['reason']}"
            for event in await self._world.apis[cluster].list(EVENTS)
            if event["metadata"]["namespace"] == namespace
            and (about := event["involvedObject"])["name"] == name
            and event["source"]["component"] == "mcs-controller"
        )

    async def _condition_problems(self, cluster: str, service: str, wanted: Json) -> list[str]:
        namespace, name = service.split("/")
        export = await self._world.apis[cluster].get(SERVICE_EXPORTS, namespace, name)
        listed = (export or {}).get("status", {}).get("conditions", [])
        found = {each["type"]: f"{each['status']} {each['reason']}" for each in listed}
        assert len(found) == len(listed), f"{cluster}: a condition type stands twice in {listed}"
        return [
            _difference(f"{cluster} {service} {type_}", found.get(type_, "absent"), value)
            for type_, value in wanted.items()
        ]

    async def _message_problems(self, cluster: str, of: str, parts: list[str]) -> list[str]:
        service, type_ = of.split()
        export = await self._world.apis[cluster].get(SERVICE_EXPORTS, *service.split("/"))
        listed = (export or {}).get("status", {}).get("conditions", [])
        message = next((each["message"] for each in listed if each["type"] == type_), "")
        assert message.isprintable(), f"{cluster} {of} is {message!r}"
        return [f"{cluster} {of} is {message!r}, without {part!r}" for part in parts if part not in message]

    async def _imports(self, cluster: str, _: str) -> int:
        return len(await self._world.apis[cluster].list(SERVICE_IMPORTS))

    async def _state(self, cluster: str, _: str) -> str:
        return self._world.state(cluster)

    async def _families(self, cluster: str, service: str) -> list[str]:
        found = await self._world.apis[cluster].get(SERVICE_IMPORTS, *service.split("/"))
        return [f"IPv{ip_address(ip).version}" for ip in (found or {}).get("spec", {}).get("ips", ())]

    async def _object_problems(self, cluster: str, reference: str, wanted: Any) -> list[str]:
        found = await self._world.apis[cluster].get(*parse_reference(reference))
        if wanted == "absent":
            return [f"{cluster}: {reference} exists"] if found else []
        if found is None:
            return [f"{cluster}: {reference} does not exist"]
        return [f"{cluster} {reference}{path}" for path in _lacks(found, wanted)]


def _ready_addresses(endpoint_slice: Json) -> list[str]:
    return [
        address
        for endpoint in endpoint_slice.get("endpoints") or []
        if endpoint.get("conditions", {}).get("ready", True)
        for address in endpoint["addresses"]
    ]


def _lacks(found: Any, wanted: Any, path: str = "") -> list[str]:
    """Where `found` does not contain `wanted`: mappings may hold more, lists and values must be equal."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return [
            problem
            for key, value in wanted.items()
            for problem in _lacks(found.get(key), value, f"{path}.{key}")
        ]
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        return [
            problem
            for number, value in enumerate(wanted)
            for problem in _lacks(found[number], value, f"{path}[{number}]")
        ]
    return [] if found == wanted else [f"{path} is {found!r}, not {wanted!r}"]


def _difference(what: str, found: Any, wanted: Any) -> str:
    return "" if found == wanted else f"{what} is {found!r}, not {wanted!r}"


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
