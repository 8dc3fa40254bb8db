"""Service and Namespace: the fields that exporting, importing and derived Services need."""

from msgspec import field

from mcs.model.meta import KubernetesObject, Wire


class ServicePort(Wire, frozen=True):
    """A port of a Service; name, protocol, port and appProtocol are what an import takes over."""

    port: int
    name: str = ""
    protocol: str = "TCP"
    app_protocol: str | None = None


class ClientIPConfig(Wire, frozen=True):
    """How long a client keeps its endpoint, in seconds."""

    timeout_seconds: int | None = None


class SessionAffinityConfig(Wire, frozen=True):
    """Parameters of session affinity ClientIP."""

    client_ip: ClientIPConfig | None = field(name="clientIP", default=None)


class ServiceSpec(Wire, frozen=True):
    """Service.spec. Fields that the API server fills in by default are read as it stores them."""

    type: str = ""
    cluster_ip: str = field(name="clusterIP", default="")
    cluster_ips: tuple[str, ...] = field(name="clusterIPs", default=())
    ip_families: tuple[str, ...] = field(name="ipFamilies", default=())
    ip_family_policy: str | None = None
    ports: tuple[ServicePort, ...] = ()
    selector: dict[str, str] = {}
    session_affinity: str = ""
    session_affinity_config: SessionAffinityConfig | None = None
    internal_traffic_policy: str | None = None
    traffic_distribution: str | None = None


class Service(KubernetesObject, frozen=True):
    """core/v1 Service."""

    spec: ServiceSpec = ServiceSpec()

    @property
    def is_headless(self) -> bool:
        """True when it asks for no cluster IP."""
        return self.spec.cluster_ip == "None"


class Namespace(KubernetesObject, frozen=True):
    """core/v1 Namespace; whether it exists and whether it is going is all that matters here."""
