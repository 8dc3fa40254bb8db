"""How the API server of a registered cluster is reached, read and checked from its registration and its Secret.

Source: the rules of KubeFed for KubeFedCluster.spec. Connecting is left to `mcs.kube.registered`, which also checks
what only a library can: certificates and kubeconfigs.
"""

import re
from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from msgspec import Struct

from mcs.model.registration import (
    ANY_VALIDATION,
    CA_KEY,
    CERTIFICATE_KEY,
    KUBECONFIG_KEY,
    KUBECONFIG_VALUE_KEY,
    PRIVATE_KEY_KEY,
    TLS_VALIDATIONS,
    TOKEN_KEY,
    KubeFedCluster,
    Secret,
)

PROXY_SCHEMES = ("http", "https", "socks5")

_HOST = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?")
_PEM = b"-----BEGIN CERTIFICATE-----"


class NotUsableError(ValueError):
    """A registration that cannot be used as it stands; the message says what to do."""


class Credentials(Struct, frozen=True):
    """Who we are for an API server: a token, a client certificate with its key, or a whole kubeconfig.

    No text of it shows any of them.
    """

    token: str = ""
    certificate: bytes = b""
    key: bytes = b""
    kubeconfig: bytes = b""

    def __repr__(self) -> str:
        kinds = [name for name in self.__struct_fields__ if getattr(self, name)]
        return f"Credentials({', '.join(kinds)})"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return [("kinds", repr(self))]


class Endpoint(Struct, frozen=True):
    """Where an API server is and how its identity is checked. `ca` is PEM; empty stands for the roots of the system."""

    server: str
    ca: bytes = b""
    server_name: str = ""
    proxy: str = ""
    disabled_validations: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"Endpoint({self.server})"


def endpoint_of(registration: KubeFedCluster, secret: Secret) -> Endpoint:
    """Raises NotUsableError."""
    spec = registration.spec
    return Endpoint(
        server=server_url(spec.api_endpoint),
        ca=_checked_ca(spec.ca_bundle or secret.data.get(CA_KEY, b"")),
        server_name=_checked_name(spec.tls_server_name),
        proxy=checked_proxy(spec.proxy_url),
        disabled_validations=_checked_validations(spec.disabled_tls_validations),
    )


def server_url(endpoint: str) -> str:
    """apiEndpoint as a URL: a host, host:port or address stands for https. Raises NotUsableError."""
    shown = "" if "@" in endpoint else f" {endpoint!r}"
    wrong = NotUsableError(
        f"apiEndpoint{shown} is not valid; write a host, host:port, address or http(s) URL"
    )
    text = endpoint.strip()
    if "://" not in text:
        try:
            text = f"https://[{text}]" if ip_address(text).version == 6 else f"https://{text}"
        except ValueError:
            text = f"https://{text}"
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        raise wrong from None
    if url.scheme not in ("http", "https") or port == 0 or not _is_host(url.hostname):
        raise wrong
    if "@" in url.netloc or url.query or url.fragment or not url.path.isprintable() or " " in url.path:
        raise wrong
    return f"{url.scheme}://{url.netloc}{url.path.rstrip('/')}"


def checked_proxy(proxy: str) -> str:
    """proxyURL, empty when there is none. Raises NotUsableError, whose message repeats no password."""
    if not proxy:
        return ""
    try:
        url = urlsplit(proxy)
        is_valid = url.scheme in PROXY_SCHEMES and _is_host(url.hostname) and url.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise NotUsableError("proxyURL is not valid; write http://, https:// or socks5:// and HOST:PORT")
    return proxy


def _is_host(host: str | None) -> bool:
    if not host:
        return False
    try:
        ip_address(host)
    except ValueError:
        return _HOST.fullmatch(host) is not None and ".." not in host
    return True


def _checked_ca(ca: bytes) -> bytes:
    if ca and _PEM not in ca:
        raise NotUsableError("caBundle holds no PEM certificate; put the CA certificate of the cluster there")
    return ca


def _checked_name(name: str) -> str:
    if name and not _is_host(name):
        raise NotUsableError(f"tlsServerName {name!r} is no host name; correct or remove it")
    return name


def _checked_validations(disabled: tuple[str, ...]) -> frozenset[str]:
    unknown = sorted(set(disabled) - set(TLS_VALIDATIONS))
    if unknown:
        raise NotUsableError(
            f"disabledTLSValidations names {', '.join(map(repr, unknown))}; known are {', '.join(TLS_VALIDATIONS)}"
        )
    if ANY_VALIDATION in disabled and set(disabled) != {ANY_VALIDATION}:
        raise NotUsableError('disabledTLSValidations: "*" stands for all; remove the others, or it')
    return frozenset(disabled)


def secret_of(registration: KubeFedCluster, secrets: Mapping[str, Secret]) -> Secret:
    """The Secret that a registration refers to. Raises NotUsableError."""
    name = registration.spec.secret_ref.name
    if not name:
        raise NotUsableError("secretRef names no Secret; name the one that holds the token")
    if (secret := secrets.get(name)) is None:
        raise NotUsableError(
            f"Secret {name!r} does not exist in its namespace; create it, or correct secretRef"
        )
    return secret


def credentials_of(secret: Secret) -> Credentials:
    """What a Secret holds: a token before a client certificate, that before a kubeconfig. Raises NotUsableError."""
    data, name = secret.data, secret.metadata.name
    if token := data.get(TOKEN_KEY, b"").strip():
        text = token.decode("ascii", "replace")
        if not text.isprintable() or "\ufffd" in text or " " in text:
            raise NotUsableError(
                f'Secret {name!r}: "{TOKEN_KEY}" is no token; write it there as it was issued'
            )
        return Credentials(token=text)
    certificate, key = data.get(CERTIFICATE_KEY, b""), data.get(PRIVATE_KEY_KEY, b"")
    if certificate and key:
        return Credentials(certificate=certificate, key=key)
    if certificate or key:
        raise NotUsableError(f'Secret {name!r} needs both "{CERTIFICATE_KEY}" and "{PRIVATE_KEY_KEY}"')
    if kubeconfig := data.get(KUBECONFIG_KEY) or data.get(KUBECONFIG_VALUE_KEY):
        return Credentials(kubeconfig=kubeconfig)
    raise NotUsableError(
        f'Secret {name!r} has no "{TOKEN_KEY}", no "{CERTIFICATE_KEY}" with "{PRIVATE_KEY_KEY}" and no '
        f'"{KUBECONFIG_KEY}"; put the token of the member there'
    )
