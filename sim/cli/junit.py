"""Results as JUnit XML, for the test reports of CI systems."""

from collections.abc import Iterable
from typing import NamedTuple
from xml.etree import ElementTree

from sim.checkers.outcome import Outcome
from sim.escape import escaped
from sim.world.campaign import RunRow

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


def of_run(row: RunRow, name: str) -> TestCase:
    """A run as a test: failed where something claimed is broken, in error where it cannot tell."""
    if row.outcome is Outcome.OK and not row.missed:
        return TestCase(name)
    broken = [each for each in row.violations if each.status == "violation"]
    lines = [f"{each.invariant} {each.checker}: {each.summary}" for each in broken]
    lines += [*row.missed, *row.stuck, *([row.crash] if row.crash is not None else [])]
    wrong = "failure" if row.outcome in FAILURES or row.missed else "error"
    message = lines[0] if lines else row.outcome.word
    return TestCase(name, wrong, row.outcome.word, message, "\n".join(lines))


def unexpected(lines: Iterable[str]) -> TestCase:
    """With `--expect`: the one test that counts, whether all ended as the scenario says."""
    found = list(lines)
    if not found:
        return TestCase("as expected")
    return TestCase("as expected", "failure", "unexpected", found[0], "\n".join(found))
