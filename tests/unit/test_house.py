import ast

from benchmarks.house import PACKAGES, find_docstrings, find_twice, measure, read_prose
from tests.data import ROOT


def test_pointing_words_are_counted_by_docstring_and_word() -> None:
    prose = read_prose(["What it says of those. Which one?", "Count the tokens of a message."])
    assert (prose.docstrings, prose.words, prose.pointing, prose.what, prose.starts) == (2, 13, 5, 1, 2)
    assert prose.figures == {"pointing": 38.46, "what": 7.69, "starts": 100.0}
    assert read_prose([]).figures == {"pointing": 0.0, "what": 0.0, "starts": 0.0}


def test_docstrings_of_modules_classes_and_functions_are_found() -> None:
    tree = ast.parse('"""A."""\nclass B:\n    """B."""\n    def c(self):\n        """C."""\n        "no"\n')
    assert sorted(find_docstrings(tree)) == ["A.", "B.", "C."]


def test_a_class_name_counts_once_however_often_it_is_defined() -> None:
    first, second = ast.parse("class A: ...\nclass B: ..."), ast.parse("class A: ...\nclass _C: ...")
    assert find_twice([first, second, first]) == {"A", "B"}
    assert find_twice([first, second]) == {"A"}


def test_docstrings_name_their_nouns() -> None:
    figures = measure(ROOT)["all"]
    assert figures["pointing"] <= 5
    assert figures["what"] <= 0.3


def test_no_package_defines_a_class_name_twice() -> None:
    rows = measure(ROOT)
    assert {package for package in PACKAGES if rows[package]["classes twice"]} == set()
