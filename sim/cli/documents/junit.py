"""Results as JUnit XML, for the test reports of CI systems."""

from collections.abc import Iterable
from typing import NamedTuple
from xml.etree import ElementTree

from ddlsim.checkers.outcome import Outcome
from ddlsim.escape import escaped

FAILURES = (Outcome.VIOLATED, Outcome.STUCK)


class TestCase(NamedTuple):
    """One test: its name, and what is wrong with it, if anything.

    `wrong` is `failure`, `error`, or `skipped` where it was not decided.
    """

    name: str
    wrong: str | None = None
    kind: str = ""
    message: str = ""
    text: str = ""


def text(suite: str, group: str, cases: Iterable[TestCase]) -> str:
    """A suite of tests as XML."""
    tests = list(cases)
    wrong = [test.wrong for test in tests]
    root = ElementTree.Element("testsuites")
    counts = {
        "name": suite,
        "tests": str(len(tests)),
        "failures": str(wrong.count("failure")),
        "errors": str(wrong.count("error")),
        "skipped": str(wrong.count("skipped")),
    }
    element = ElementTree.SubElement(root, "testsuite", counts)
    for test in tests:
        case = ElementTree.SubElement(
            element, "testcase", {"name": printable(test.name), "classname": printable(group)}
        )
        if test.wrong is not None:
            attributes = {"type": test.kind, "message": printable(test.message)}
            ElementTree.SubElement(case, test.wrong, attributes).text = printable(test.text)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def printable(words: str) -> str:
    """Text that XML can hold: control characters are written out."""
    return escaped(words)
