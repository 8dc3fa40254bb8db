"""The kinds that an API server serves, as its discovery tells them, and which of them a word on a command line means.

Source: Kubernetes API concepts, "API discovery"; how kubectl finds a kind. Asking for them is left to `mcs.kube`.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from mcs.model.resources import Resource
from mcs.model.targets import TargetObject


class KindError(Exception):
    """No kind, or more than one, is meant by a word; the message says what to write."""


class ServedKind(Struct, frozen=True, kw_only=True):
    """A kind in one version that it is served in, with all its names."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    singular: str = ""
    short_names: tuple[str, ...] = ()
    verbs: frozenset[str] = frozenset()
    subresources: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The name that means this kind and no other: "services", "deployments.apps"."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def resource(self) -> Resource[TargetObject]:
        """The kind as it is asked for; its objects are kept whole."""
        return Resource(
            group=self.group,
            version=self.version,
            plural=self.plural,
            kind=self.kind,
            type=TargetObject,
            namespaced=self.namespaced,
        )

    def is_called(self, word: str) -> bool:
        """Whether the word is one of its names: plural, singular, kind or a short one, in whatever case."""
        return word in {self.plural, self.singular, self.kind.lower(), *self.short_names}


def kind_named(text: str, served: Sequence[ServedKind], version: str = "") -> ServedKind:
    """The kind that "deployments.apps", "deployments", "Deployment" or "deploy" means, in the version asked for.

    Without one it is the version that the server prefers. A word that several groups know means the kind of the core
    group, if that is one of them. Raises KindError.
    """
    word, _, group = text.lower().partition(".")
    known = [each for each in served if each.is_called(word) and (not group or each.group == group)]
    if not known:
        raise KindError(
            f"its API server serves nothing called {text!r}; kubectl api-resources lists what there is"
        )
    names = sorted({each.name for each in known})
    if len(names) > 1:
        core = [each for each in known if not each.group]
        if not core:
            raise KindError(f"{text!r} may be any of {', '.join(names)}; write the one that is meant")
        known = core
    if not version:
        return known[0]
    in_version = [each for each in known if each.version == version]
    if not in_version:
        versions = _listed(each.version for each in known)
        raise KindError(f"{known[0].name} is not served in version {version!r}; there is {versions}")
    return in_version[0]


def _listed(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(words))
