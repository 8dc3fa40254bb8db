"""That every sentence has its test, and that the table of them tells the truth."""

from pathlib import Path

import pytest

from tests.conformance.coverage_table import Mark, lines, rows, unmarked_tests, written_marks
from tests.conformance.kep_sentences import CONTROLLER, ELSEWHERE, SENTENCES, Sentence

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
A, B = Sentence("A", "MUST", "a"), Sentence("B", "SHOULD", "b")
C = Sentence("C", "MAY", "c", "kube-proxy", "tests/real")


def test_every_sentence_of_the_controller_has_a_test() -> None:
    written = {mark.sentence for mark in written_marks(HERE)}
    assert [each.sentence for each in CONTROLLER if each.sentence not in written] == []


def test_every_mark_is_a_sentence_of_the_list_at_its_level() -> None:
    listed = {Mark(each.sentence, each.level) for each in CONTROLLER}
    marks = [mark for mark in written_marks(HERE) if mark.sentence.startswith("KEP-")]
    assert [mark for mark in marks if mark not in listed] == []


def test_every_test_of_a_specification_says_which_sentence_it_checks() -> None:
    assert [each for each in unmarked_tests(HERE) if not each.startswith(Path(__file__).name)] == []


def test_no_sentence_stands_twice() -> None:
    assert len({each.sentence for each in SENTENCES}) == len(SENTENCES)


def test_what_is_tested_elsewhere_is_there() -> None:
    assert [each.tested_in for each in ELSEWHERE if not (ROOT / each.tested_in).exists()] == []
    assert [each.sentence for each in ELSEWHERE if not each.elsewhere] == []


def test_a_sentence_is_as_good_as_the_worst_of_its_tests() -> None:
    a, b = Mark("A", "MUST"), Mark("B", "SHOULD")
    told = rows([A, B], [a, b], {a: ["passed", "failed", "passed"], b: ["passed", "not run"]})
    assert [(row.state, row.tests) for row in told] == [("failed", 3), ("passed", 2)]


def test_a_sentence_without_a_test_is_missing_and_one_that_was_left_out_is_not_run() -> None:
    told = rows([A, B, C], [Mark("B", "SHOULD")], {})
    assert [row.state for row in told] == ["missing", "not run", "elsewhere"]


def test_marks_outside_the_list_are_told_after_it() -> None:
    told = rows([A], [Mark("A", "MUST"), Mark("D", "MUST")], {Mark("D", "MUST"): ["passed"]})
    assert [(row.mark.sentence, row.state) for row in told] == [("A", "not run"), ("D", "passed")]


def test_the_table_has_a_line_for_each_sentence_and_one_of_counts() -> None:
    told = rows([A, C], [Mark("A", "MUST")], {Mark("A", "MUST"): ["passed"] * 2})
    assert lines(told) == [
        "A  MUST      passed     2",
        "C  MAY       elsewhere  tests/real",
        "2 sentences: 1 passed, 0 failed, 0 not run, 0 missing, 1 elsewhere; 2 tests",
    ]


def test_marks_are_read_from_the_files(tmp_path: Path) -> None:
    text = '@pytest.mark.spec("A", "MUST")\nasync def test_a(): ...\n\nclass T:\n    def test_b(self): ...\n'
    (tmp_path / "test_some.py").write_text(text)
    assert written_marks(tmp_path) == {Mark("A", "MUST"): ["test_some.py::test_a"]}
    assert unmarked_tests(tmp_path) == ["test_some.py::test_b"]


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda each: each.sentence)
def test_a_sentence_names_a_section_and_is_said_in_full(sentence: Sentence) -> None:
    section, _, words = sentence.sentence.partition(": ")
    kep, _, anchor = section.partition("#")
    assert kep in {"KEP-1645", "KEP-2149"}
    assert anchor == anchor.lower().replace(" ", "-") != ""
    assert words
    assert sentence.asks.endswith(".")
