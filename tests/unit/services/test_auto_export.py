"""Automatic exports: which are made, which are taken back, and which are none of our business."""

import pytest
from msgspec.structs import replace

from mcs.model.multicluster import ServiceExport
from mcs.model.names import (
    API_SERVER,
    MANAGED_BY,
    MANAGED_BY_LABEL,
    SERVICE_NAME_LABEL,
    ClusterId,
    ServiceKey,
)
from mcs.model.selectors import parse_selector
from mcs.model.services import Service
from mcs.services.auto_export import ObservedService, plan_auto_export
from mcs.testing.builders import WEB, export, service
from mcs.testing.simulated_target import in_words

SELECTED = {"tier": "web"}
SELECTOR = parse_selector("tier=web")
MAKES, TAKES_BACK = ["apply serviceexports"], ["delete serviceexports"]


def of_ours(*, terminating: bool = False) -> ServiceExport:
    made = export(terminating=terminating)
    return replace(made, metadata=replace(made.metadata, labels={MANAGED_BY_LABEL: MANAGED_BY}))


def planned(
    subject: Service | None,
    present: ServiceExport | None = None,
    key: ServiceKey = WEB,
    selector: str = "tier=web",
) -> list[str]:
    observed = ObservedService(ClusterId("c1"), key, subject, present)
    return in_words(plan_auto_export(observed, parse_selector(selector)))


SYSTEM = ServiceKey("kube-system", "dns")


@pytest.mark.parametrize(
    ("case", "found", "wanted"),
    [
        ("a selected Service is exported", planned(service(labels=SELECTED)), MAKES),
        ("another is not", planned(service(labels={"tier": "db"})), []),
        ("an empty selector selects nothing", planned(service(labels=SELECTED), selector=""), []),
        ("what is exported stays so", planned(service(labels=SELECTED), of_ours()), []),
        ("an export of a user is left alone", planned(service(labels=SELECTED), export()), []),
        ("also when the Service is not selected", planned(service(), export()), []),
        ("what is no longer selected is taken back", planned(service(), of_ours()), TAKES_BACK),
        ("and what has no Service any more", planned(None, of_ours()), TAKES_BACK),
        ("what goes already is not deleted again", planned(None, of_ours(terminating=True)), []),
        ("a Service that goes is none", planned(service(labels=SELECTED, terminating=True)), []),
        ("an ExternalName Service", planned(service(kind="ExternalName", labels=SELECTED)), []),
        (
            "a derived Service is never exported again",
            planned(service(labels={**SELECTED, MANAGED_BY_LABEL: MANAGED_BY, SERVICE_NAME_LABEL: "web"})),
            [],
        ),
        ("a system namespace", planned(service(SYSTEM, labels=SELECTED), key=SYSTEM), []),
        (
            "the API server's own Service",
            planned(service(API_SERVER, labels=SELECTED), key=API_SERVER),
            [],
        ),
    ],
)
def test_what_is_planned(case: str, found: list[str], wanted: list[str]) -> None:
    assert found == wanted, case


def test_an_automatic_export_carries_our_label_and_no_more() -> None:
    observed = ObservedService(ClusterId("c1"), WEB, service(labels=SELECTED), None)
    (action,) = plan_auto_export(observed, SELECTOR)
    made = action.object  # type: ignore[union-attr]
    assert (made.key, made.metadata.labels) == (WEB, {MANAGED_BY_LABEL: MANAGED_BY})
