"""The store: one revision, its log, snapshots of the past, and compaction."""

import pytest

from mcs.sandbox.resources import CONFIGMAPS, SECRETS
from mcs.sandbox.store import Change, ChangeType, CompactedError, Object, Store


def config_map(name: str, namespace: str = "default", **data: str) -> Object:
    return {"metadata": {"name": name, "namespace": namespace}, "data": data}


def test_every_write_gets_the_next_revision() -> None:
    store = Store()
    first = store.put(CONFIGMAPS, config_map("a"))
    second = store.put(SECRETS, config_map("b"))
    assert int(second["metadata"]["resourceVersion"]) == int(first["metadata"]["resourceVersion"]) + 1
    assert store.revision == int(second["metadata"]["resourceVersion"])


def test_what_was_handed_in_is_not_edited() -> None:
    sent = config_map("a")
    Store().put(CONFIGMAPS, sent)
    assert "resourceVersion" not in sent["metadata"]


def test_objects_are_listed_by_namespace_and_name() -> None:
    store = Store()
    for namespace, name in (("b", "x"), ("a", "z"), ("a", "y")):
        store.put(CONFIGMAPS, config_map(name, namespace))
    assert [o["metadata"]["name"] for o in store.list(CONFIGMAPS)] == ["y", "z", "x"]
    assert [o["metadata"]["name"] for o in store.list(CONFIGMAPS, "b")] == ["x"]


def test_the_past_can_be_listed_until_it_is_compacted() -> None:
    store = Store()
    store.put(CONFIGMAPS, config_map("kept", v="1"))
    then = store.put(CONFIGMAPS, config_map("gone"))
    store.put(CONFIGMAPS, config_map("kept", v="2"))
    store.remove(CONFIGMAPS, "default", "gone")
    store.put(CONFIGMAPS, config_map("new"))

    past = store.list_at(CONFIGMAPS, int(then["metadata"]["resourceVersion"]))
    assert [(o["metadata"]["name"], o["data"]) for o in past] == [("gone", {}), ("kept", {"v": "1"})]

    store.compact()
    with pytest.raises(CompactedError):
        store.list_at(CONFIGMAPS, int(then["metadata"]["resourceVersion"]))
    assert len(store.list_at(CONFIGMAPS, store.revision)) == 2


def test_listeners_and_the_log_tell_the_same_story() -> None:
    store = Store()
    heard: list[Change] = []
    unlisten = store.listen(heard.append)
    before = store.revision
    store.put(CONFIGMAPS, config_map("a"))
    store.put(CONFIGMAPS, config_map("a", v="2"))
    store.remove(CONFIGMAPS, "default", "a")
    unlisten()
    told = store.changes_after(before)
    assert told == heard
    assert [change.type for change in told] == [ChangeType.ADDED, ChangeType.MODIFIED, ChangeType.DELETED]
    store.put(CONFIGMAPS, config_map("b"))
    assert len(heard) == 3


def test_a_deletion_carries_its_own_revision() -> None:
    store = Store()
    stored = store.put(CONFIGMAPS, config_map("a"))
    gone = store.remove(CONFIGMAPS, "default", "a")
    assert gone is not None
    assert int(gone["metadata"]["resourceVersion"]) > int(stored["metadata"]["resourceVersion"])
    assert store.remove(CONFIGMAPS, "default", "a") is None


def test_a_long_history_is_forgotten_by_itself() -> None:
    store = Store(history=5)
    start = store.revision
    for number in range(20):
        store.put(CONFIGMAPS, config_map("a", v=str(number)))
    with pytest.raises(CompactedError):
        store.changes_after(start)
    assert len(store.changes_after(store.revision - 5)) == 5
