"""What an export is told of the preference that its annotations ask for. Carrying it out is left to mirrors and DNS."""

from mcs.model.multicluster import ImportType
from mcs.model.preference import (
    DEFAULT_WEIGHT,
    PREFERENCE_ANNOTATION,
    WEIGHT_ANNOTATION,
    preference_of,
    preference_problems,
)
from mcs.services.observed import Exporter


def preference_message(exporter: Exporter, type_: ImportType) -> str:
    """What of the preference is not heeded and why, and that endpoints are withheld; empty where none is said."""
    annotations = exporter.export.metadata.annotations
    preference = preference_of(annotations)
    sentences = [f"{problem} It is not heeded." for problem in preference_problems(annotations)]
    if preference.weight == 0:
        sentences.append(f"{WEIGHT_ANNOTATION} 0 withholds the endpoints of this cluster.")
    if type_ == "ClusterSetIP":
        if preference.weight not in (0, DEFAULT_WEIGHT):
            sentences.append(
                f"{WEIGHT_ANNOTATION} {preference.weight} is not heeded: a virtual IP cannot weight; use 0, or a "
                "headless Service."
            )
        if PREFERENCE_ANNOTATION in preference.annotations:
            sentences.append(
                f"{PREFERENCE_ANNOTATION} is not heeded: a virtual IP has no order; use trafficDistribution, or a "
                "headless Service."
            )
    return "".join(f" {sentence}" for sentence in sentences)
