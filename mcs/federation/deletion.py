"""How an object is deleted in the members: what the annotation of its federated object asks for.

Source: KubeFed's annotation kubefed.io/deleteoption, which holds metav1.DeleteOptions.
"""

from typing import Any

import msgspec

from mcs.federation.overrides import NotMade
from mcs.model.federated import DELETE_OPTION_ANNOTATION, DELETION_FAILED, FederatedObject

_OPTIONS = msgspec.json.Decoder(dict[str, Any])


def delete_options(federated: FederatedObject) -> dict[str, Any] | NotMade:
    """The fields of DeleteOptions that were asked for; what cannot be read deletes nothing, for it may urge care."""
    text = federated.metadata.annotations.get(DELETE_OPTION_ANNOTATION, "")
    if not text:
        return {}
    try:
        return _OPTIONS.decode(text)
    except msgspec.MsgspecError as error:
        return NotMade(
            f"annotation {DELETE_OPTION_ANNOTATION} is no JSON of DeleteOptions ({error}); "
            'write it as {"propagationPolicy": "Foreground"}, or remove it',
            DELETION_FAILED,
        )
