"""What KEP-1645 and KEP-2149 ask of an MCS implementation, a sentence an entry, in our words.

`sentence` is how a test names it in its mark: the section's anchor and a few words; `asks` says it in full. KEP-1645
is worded with will, must, should and may; a plain "will" counts as MUST here. A sentence that the controller cannot
keep by itself says who does, and where that is tested. What DNS must answer is in the marks of its own tests.
"""

from dataclasses import dataclass
from typing import Literal

Level = Literal["MUST", "MUST NOT", "SHOULD", "MAY"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """One requirement. `elsewhere` is empty when the controller's plans keep it, else whose it is.

    `tested_in` is the file or folder of those that test it, from the root of the project; empty where nothing can.
    """

    sentence: str
    level: Level
    asks: str
    elsewhere: str = ""
    tested_in: str = ""


def _of(section: str, *rows: tuple[str, Level, str]) -> tuple[Sentence, ...]:
    return tuple(Sentence(f"{section}: {words}", level, asks) for words, level, asks in rows)


IDENTITY = (
    *_of(
        "KEP-1645#terminology",
        ("namespace sameness", "MUST", "Namespaces of one name are the same one; other names never meet."),
        ("cluster name", "MUST", "A cluster's name is one DNS label."),
        ("cluster id", "MUST", "An id is the name, or the name and one further label, joined by a dot."),
        ("one cluster, one id", "MUST", "No two members have the same id."),
        ("a changed id", "SHOULD", "An id that changes is another member, not the same one renamed."),
    ),
    *_of(
        "KEP-2149#overview",
        (
            "the id is a property",
            "MUST",
            "The id is what the ClusterProperty cluster.clusterset.k8s.io says.",
        ),
        (
            "the clusterset is a property",
            "MUST",
            "The ClusterProperty clusterset.k8s.io names the clusterset.",
        ),
    ),
    *_of(
        "KEP-2149#contents",
        ("an id fits a label", "MUST", "An id is the value of a label, so it has at most 63 characters."),
    ),
    *_of(
        "KEP-2149#additional-properties",
        ("reserved suffixes", "MUST NOT", "What is ours alone is not named under .k8s.io or .kubernetes.io."),
    ),
)
EXPORTING = (
    *_of(
        "KEP-1645#exporting-services",
        ("nothing by default", "MUST", "A Service without any ServiceExport is not exported."),
        (
            "by namespace and name",
            "MUST",
            "An export means the Service of its namespace and name, in its cluster.",
        ),
        ("only with an export", "MUST", "A Service takes no part because another cluster exports its like."),
        (
            "one combined service",
            "MUST",
            "Exports of one namespace and name from several clusters are one service.",
        ),
        ("ends with the export", "MUST", "A service whose export is deleted is exported no longer."),
        ("a Service that goes", "MUST", "An export without its Service is NoService and exports nothing."),
        ("a Service that returns", "MUST", "An export is valid again as soon as its Service is back."),
        (
            "properties of the Service",
            "MUST",
            "Ports, affinity, policies and families are those of the Service.",
        ),
        ("by hand or by tools", "MAY", "Exports may be made automatically, for what a selector selects."),
    ),
    *_of(
        "KEP-1645#labels-and-annotations",
        (
            "metadata stays",
            "MUST NOT",
            "Labels and annotations of Service and ServiceExport are not exported.",
        ),
        ("exported metadata", "MAY", "exportedLabels and exportedAnnotations are those of the import."),
        ("bad metadata", "SHOULD", "What no import can carry is left out and told, and blocks nothing."),
    ),
    *_of(
        "KEP-1645#restricting-exports",
        (
            "system namespaces",
            "SHOULD",
            "Namespaces that each cluster has for itself are not exported or imported.",
        ),
    ),
    *_of(
        "KEP-1645#service-types",
        (
            "types",
            "MUST",
            "ClusterIP, NodePort and LoadBalancer become ClusterSetIP, headless becomes Headless.",
        ),
        ("ExternalName", "MUST", "ExternalName is InvalidServiceType and has no import."),
        ("local behaviour stays", "MUST", "Nothing of an exported Service is written to in its own cluster."),
    ),
)
IMPORTING = (
    *_of(
        "KEP-1645#importing-services",
        ("one import in every cluster", "MUST", "Each member has one import of that name, exporters too."),
        (
            "only where the namespace is",
            "MUST",
            "A cluster without the namespace gets nothing until it is there.",
        ),
        ("namespaces are not made", "MAY", "Making the namespace where it is missing is left to others."),
        (
            "as long as one export",
            "MUST",
            "The import lives while one valid export is left and goes with the last.",
        ),
        ("not made anew", "MUST", "An import outlives the end of one of several exports, the same object."),
        (
            "an invalid export adds nothing",
            "MUST",
            "An export that is not valid neither makes nor keeps an import.",
        ),
        ("ours alone", "SHOULD", "What somebody changes in an import is put right."),
        ("a human may be the controller", "MAY", "An import that somebody else made is left as it is."),
        ("exporting clusters", "MUST", "status.clusters lists the exporting clusters."),
        ("errors are conditions", "SHOULD", "A family that the cluster lacks is IPFamilyNotSupported."),
        ("slices are there or not", "MUST", "status.endpointSliceObjects says whether EndpointSlices exist."),
        ("Ready", "MUST", "An import that can be used is Ready, with that reason."),
        ("Pending", "MUST", "An import that cannot be used yet is Pending, and says what to do."),
    ),
    *_of(
        "KEP-1645#clustersetip",
        ("has addresses", "MUST", "An import that is not headless has clusterset IPs."),
        ("stable", "MUST", "The addresses stay for the life of the import, whatever else changes."),
        ("all backends", "MUST", "Requests to the addresses reach the backends of all exporters."),
        ("headless has none", "MUST", "A headless import has no addresses and no derived Service."),
        (
            "families correspond",
            "MUST",
            "Each address is of the family in its place, and no family is there twice.",
        ),
        ("the same order", "SHOULD", "Addresses and families are in one order, that of the derived Service."),
        ("written together", "MUST", "No write shows addresses without their families."),
        (
            "where families come from",
            "MAY",
            "The families are a hint of the oldest export; headless has any.",
        ),
        ("a headless family is no error", "MUST NOT", "A headless import is not refused for a family."),
    ),
    *_of(
        "KEP-1645#version-skew-strategy",
        ("an older CRD", "MUST", "An import whose CRD drops the newest field is written once."),
    ),
)
CONFLICTS = (
    *_of(
        "KEP-1645#constraints-and-conflict-resolution",
        ("told to all", "MUST", "A conflict is told to every export of the service, in every cluster alike."),
        ("the oldest wins", "MUST", "The oldest export decides, not the local one and not the majority."),
        ("ties", "MUST", "Exports of one age are decided alike in every cluster."),
        ("a newcomer disturbs nothing", "MUST NOT", "A conflict does not change what the import says."),
        ("an end may change it", "MAY", "When the oldest goes, the next one decides."),
        ("no conflict is told", "SHOULD", "Exports that agree say NoConflicts."),
        (
            "all reasons at once",
            "MUST",
            "Several conflicts are reasons joined by commas, a line of message each.",
        ),
        ("the message", "SHOULD", "The message names field, value, winner, why, and how many disagree."),
        ("an invalid export has none", "MAY", "An export that is not valid takes no part in conflicts."),
        ("exported labels", "MUST", "exportedLabels are those of the oldest, as a whole."),
        ("exported annotations", "MUST", "exportedAnnotations are those of the oldest, as a whole."),
    ),
    *_of(
        "KEP-1645#headlessness",
        ("the type of the oldest", "MUST", "The oldest decides whether the service is headless."),
        ("a type that flips", "SHOULD", "A type that changes is told by conditions and Events."),
    ),
    *_of(
        "KEP-1645#session-affinity",
        ("affinity of the oldest", "MUST", "sessionAffinity is that of the oldest."),
        ("its configuration", "MUST", "sessionAffinityConfig is that of the oldest."),
    ),
    *_of(
        "KEP-1645#internal-traffic-policy",
        ("policy of the oldest", "MUST", "internalTrafficPolicy is that of the oldest; none is Cluster."),
    ),
    *_of(
        "KEP-1645#traffic-distribution",
        (
            "distribution of the oldest",
            "MUST",
            "trafficDistribution is that of the oldest; none differs from any.",
        ),
        ("for all endpoints", "MUST", "The preference holds for the endpoints of all clusters."),
    ),
    *_of(
        "KEP-1645#clustersetip",
        (
            "families that reach a part",
            "MUST",
            "IPFamilyConflict where an address's family reaches a part only.",
        ),
    ),
    *_of(
        "KEP-1645#service-port",
        ("the union", "MUST", "Port sets that differ at all become their union, and PortConflict."),
        (
            "no duplicates",
            "MUST",
            "No name, the empty one included, and no protocol and port are there twice.",
        ),
        ("names first", "SHOULD", "Ports merge by name, then by protocol and port; the older one stays."),
        ("only who serves it", "SHOULD", "Traffic to a contested port goes only to clusters that serve it."),
        ("after defaulting", "MUST", "Ports carry their protocol, and no targetPort or nodePort."),
    ),
)
EXPORT_CONDITIONS = _of(
    "KEP-1645#exporting-services",
    ("Valid", "MUST", "A valid export says Valid, an invalid one why not."),
    ("Ready when exported", "MUST", "An export is Ready, Exported, once it is imported, and Pending before."),
    (
        "conditions are well formed",
        "MUST",
        "Reasons have no blanks, messages fit, and times change with the status.",
    ),
)
SLICES = _of(
    "KEP-1645#using-endpointslice-objects-to-track-endpoints",
    ("in every cluster", "MUST", "Every importing cluster has slices of the service in its namespace."),
    ("one cluster each", "MUST", "A slice has endpoints of one cluster."),
    ("the service's name", "MUST", "A slice has the import's name as its label."),
    ("the source cluster", "MUST", "A slice has the source cluster's id as its label."),
    (
        "managed by us",
        "MUST",
        "The label says who manages the slice, which is not Kubernetes' own controller.",
    ),
    (
        "names do not clash",
        "MUST NOT",
        "Slices of different clusters, services or families have different names.",
    ),
    ("families and hostnames", "MUST", "Family, hostname, zone and conditions of endpoints are carried."),
    ("gone with the export", "MUST", "The slices of a cluster go with its export."),
    ("the local Service is left alone", "MUST NOT", "No slice belongs to the real Service of that name."),
    ("never exported back", "MUST NOT", "Imported slices are not exported again."),
)
ENDPOINT_TTL = _of(
    "KEP-1645#endpoint-ttl",
    ("unknown is not empty", "MUST NOT", "A cluster that cannot be seen loses nothing for that alone."),
)
ELSEWHERE = (
    Sentence(
        "KEP-1645#terminology: trust",
        "MUST",
        "Members trust each other, under one authority, in one clusterset.",
        "whoever lists the members",
    ),
    Sentence(
        "KEP-1645#restricting-exports: by RBAC",
        "MAY",
        "Who may make exports is for the administrators of a cluster.",
        "the rights in a cluster",
        "tests/real/test_chart_rights.py",
    ),
    Sentence(
        "KEP-1645#importing-services: not by users",
        "SHOULD",
        "Users may not make or change imports.",
        "the rights in a cluster",
    ),
    Sentence(
        "KEP-1645#importing-services: the source of truth",
        "MUST",
        "DNS and routing go by the import.",
        "mcs dns",
        "tests/unit/controllers/test_zone_feed.py",
    ),
    Sentence(
        "KEP-1645#clustersetip: packets arrive",
        "MUST",
        "Packets to a clusterset IP arrive at pods of every exporter.",
        "kube-proxy",
        "tests/real/conformance/test_connectivity.py",
    ),
    Sentence(
        "KEP-1645#dns: names of the clusterset",
        "MUST",
        "Only names under clusterset.local lead to other clusters.",
        "mcs dns",
        "tests/conformance/test_dns_specification.py",
    ),
    Sentence(
        "KEP-1645#dns: cluster.local stays",
        "MUST",
        "Names under cluster.local lead to local Services only.",
        "the DNS of the cluster",
        "tests/real/conformance/test_clusterip_service_dns.py",
    ),
    Sentence(
        "KEP-1645#version-skew-strategy: versions",
        "MUST",
        "v1alpha1 and v1beta1 are served, with one schema.",
        "the definitions",
        "tests/unit/test_project_layout.py",
    ),
    Sentence(
        "KEP-1645#version-skew-strategy: DNS",
        "MUST",
        "DNS answers as its specification says.",
        "mcs dns",
        "tests/conformance/test_dns_specification.py",
    ),
    Sentence(
        "KEP-1645#endpoint-ttl: stale endpoints go",
        "SHOULD",
        "Endpoints of a cluster that stays unreachable are removed in the end.",
        "open: nothing decides yet that a cluster has been away for too long",
    ),
    *(
        Sentence(f"KEP-1645#{words}", "MAY", asks, "left open by the KEP")
        for words, asks in (
            ("non-goals: network policies", "What a NetworkPolicy means between clusters is not said."),
            ("tracking-endpoints: how many", "How many endpoints a service may have is not said."),
            ("traffic-distribution: further control", "Preferring clusters is beyond this KEP."),
            (
                "test-plan: networks",
                "How packets pass between clusters is not said; flat networks are assumed.",
            ),
        )
    ),
)
CONTROLLER = (
    *IDENTITY,
    *EXPORTING,
    *EXPORT_CONDITIONS,
    *IMPORTING,
    *CONFLICTS,
    *SLICES,
    *ENDPOINT_TTL,
)
SENTENCES = (*CONTROLLER, *ELSEWHERE)
