"""What the tests of the judges ask of them."""

from ddlsim.checkers.base import CHECKERS, Anomaly
from ddlsim.checkers.case.case import Case
from tests.support.history import Story


def anomalies(checker: str, story: Story) -> list[Anomaly]:
    """All that one checker finds in a history."""
    return list(CHECKERS.get(checker).check(Case(story.history())))


def found(story: Story, *, strict: bool = False) -> list[Anomaly]:
    """What I3 finds, with the relaxed graph only or with the strict one too."""
    return [one for one in anomalies("serializability", story) if strict or not one.strict_only]


def cycles(story: Story, *, strict: bool = False) -> list[str]:
    return [one.summary.removeprefix("a cycle: ") for one in found(story, strict=strict)]


def kinds(story: Story, *, strict: bool = False) -> list[str]:
    return [one.kind for one in found(story, strict=strict)]


def write_skew() -> Story:
    story = Story()
    t = story.table()
    story.read("T1", t, "x", 10, None)
    story.read("T2", t, "y", 11, None)
    story.write("T1", t, "y", 12)
    story.write("T2", t, "x", 13)
    story.commit("T1", 20)
    story.commit("T2", 21)
    return story


def circle_of_reads() -> Story:
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10)
    story.write("T2", t, "y", 10)
    story.read("T1", t, "y", 12, "T2")
    story.read("T2", t, "x", 12, "T1")
    story.commit("T1", 20)
    story.commit("T2", 21)
    return story


def two_ways() -> Story:
    """Write skew of T1 and T2, which past T3 and T4 is a cycle with no two rw in a row."""
    story = Story()
    t = story.table()
    story.read("T1", t, "y", 10, None)
    story.read("T2", t, "x", 10, None)
    story.read("T3", t, "b", 10, None)
    for at, (tx, key) in enumerate(
        [("T1", "a"), ("T1", "x"), ("T3", "a"), ("T4", "b"), ("T4", "c"), ("T2", "c"), ("T2", "y")]
    ):
        story.write(tx, t, key, 11 + at / 10)
    for at, tx in enumerate(("T1", "T3", "T4", "T2")):
        story.commit(tx, 20 + at)
    return story
