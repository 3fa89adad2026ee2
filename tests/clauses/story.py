"""Small worlds in a few lines: a story of steps, told once as it is and once with a rule broken.

A line of a story is `when who: step = what`, for the `[[step]]` tables of scenarios/README.md:

    20     T@n3: w = put t 1 { v = 5 }
    110    c@n1: d = ALTER TABLE t DROP COLUMN v
    d.ok   T: e = commit

`when` is milliseconds, an event of an earlier step, or `-` for as soon as who asks is free. Who
asks is a transaction if its name begins with T, else a client each of whose operations is a
transaction of its own; `@node` where it is first heard of. What is put without values the client
fills in.

A world has three nodes of which only n1 votes, links that take no time, DD 100, CSmax 7 and H 50
ms, and table t (id, v) unless it is given a schema. Whatever else it has is more of the scenario.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from ddlsim.checkers.judge import judge
from ddlsim.cluster import designs, planes
from ddlsim.cluster import run as world_run
from ddlsim.history.events import Failed, Ok
from ddlsim.history.history import History
from ddlsim.plan.plan import plan
from ddlsim.scenario.scenario import read
from ddlsim.units import US_PER_MS

SETTINGS = '[protocol]\npreset = "ignite3_tests"\n'
CLUSTER = "[cluster]\nnodes = 3\nvoters = 1\n"
SCHEMA = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"
TWO_TABLES = f"{SCHEMA}; CREATE TABLE u (id INT PRIMARY KEY)"
ACTIONS = ("get", "put", "delete", "scan")
QUERIES = ("SELECT", "UPDATE", "begin", "commit", "rollback")


class Told:
    """What came of a story."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.ended = {event.op: event for event in history.of(Ok, Failed)}

    def __getitem__(self, step: str) -> Any:
        """What a step was answered: what it read, `ok`, the reason of its failure, or `stuck`."""
        event = self.ended.get(step)
        if event is None:
            return "stuck"
        if isinstance(event, Failed):
            return event.reason
        return "ok" if event.value is None else event.value

    def at_ms(self, step: str) -> float:
        """When a step was answered."""
        return float(self.ended[step].at_us / US_PER_MS)

    def of(self, kind: type, **fields: Any) -> list[Any]:
        """What the witness saw of one kind, with some fields as given."""
        return [
            event
            for event in self.history.of(kind)
            if all(getattr(event, name) == value for name, value in fields.items())
        ]

    @property
    def breaches(self) -> set[str]:
        """The invariants that the judges find broken."""
        return {violation.invariant for violation in judge(self.history).violations}


class Story:
    """A world and what is done in it; `tell` runs it."""

    def __init__(
        self,
        lines: str,
        more: str = "",
        *,
        schema: str = SCHEMA,
        leaders: dict[str, str] | None = None,
        **strategy: str,
    ) -> None:
        self.lines = lines
        steps = [written(line) for line in lines.strip().splitlines()]
        first = [f'[[leader]]\ngroup = "{g}"\nnode = "{n}"\n' for g, n in (leaders or {}).items()]
        parts = [more, f'[schema]\nsql = "{schema}"\n', *first, *steps]
        if "[protocol]" not in more:
            parts.insert(1, SETTINGS)
        if "[cluster]" not in more:
            parts.insert(1, CLUSTER)
        self.text = "\n".join(parts)
        self.strategy = strategy

    def tell(self, mutant: str | None = None, **rules: Any) -> Told:
        """Run it under the design, a mutant of it, or with other rules in the strategy's fields."""
        named = {f"strategy.{name}": rule for name, rule in self.strategy.items()}
        if mutant is not None:
            named["strategy.mutant"] = mutant
        made = plan(read(self.text, "story.toml", overrides=named))
        chosen, parts, item = designs.design(made)
        design = (replace(chosen, **rules), parts, item)
        with patch.object(planes, "design", lambda _: design):
            return Told(world_run.run(made))


def written(line: str) -> str:
    """A line of a story as a `[[step]]`."""
    when, who, rest = line.strip().split(maxsplit=2)
    step, what = rest.split(" = ", maxsplit=1)
    who, _, node = who.rstrip(":").partition("@")
    keys = [f'id = "{step}"', f'client = "{who.lower()}"']
    first = what.split()[0]
    if who.startswith("T"):
        keys.append(f'tx = "{who}"')
    if node:
        keys.append(f'node = "{node}"')
    if when != "-":
        keys.append(f"at_ms = {when}" if when[0].isdigit() else f'after = "{when}"')
    if first in ACTIONS:
        words = what.split(maxsplit=3)
        shown = [f'"{first}"', f'"{words[1]}"', *words[2:]]
        keys.append(f"do = [{', '.join(shown)}]")
    else:
        keys.append(f'{"do" if first in QUERIES else "ddl"} = "{what}"')
    return "[[step]]\n" + "\n".join(keys) + "\n"


def late(node: str, from_ms: float, until_ms: float) -> str:
    """The log does not reach a node for a while."""
    return held("n1", node, "append-entries", from_ms, until_ms)


def held(sender: str, to: str, kind: str, from_ms: float, until_ms: float) -> str:
    """Messages of one kind are kept back for a while."""
    return (
        f'[[hold]]\nfrom = "{sender}"\nto = "{to}"\nkind = "{kind}"\n'
        f"from_ms = {from_ms}\nuntil_ms = {until_ms}\n"
    )


def offset(node: str, offset_ms: float) -> str:
    """A node's clock is ahead of true time."""
    return f"[clocks.nodes.{node}]\noffset_ms = {offset_ms}\n"


def differs(story: Story, shown: Callable[[Told], Any], *mutants: str, **rules: Any) -> bool:
    """Whether something comes out otherwise under each of some mutants, and under other rules."""
    sound = shown(story.tell())
    broken = [shown(story.tell(mutant)) for mutant in mutants]
    broken += [shown(story.tell(**{name: rule})) for name, rule in rules.items()]
    return bool(broken) and all(each != sound for each in broken)


def answers(*steps: str) -> Callable[[Told], list[Any]]:
    """What some steps were answered."""
    return lambda told: [told[step] for step in steps]


def moments(*steps: str) -> Callable[[Told], list[float | None]]:
    """When some steps were answered; None for one that never was."""
    return lambda told: [told.at_ms(step) if step in told.ended else None for step in steps]


def told_at(*steps: str) -> Callable[[Told], tuple[list[Any], list[float | None]]]:
    """What some steps were answered, and when."""
    return lambda told: (answers(*steps)(told), moments(*steps)(told))


HERE = {"t/0": "n3"}
"""The only partition of t is on n3."""
SPLIT = {"t/0": "n2", "t/1": "n3"}
"""Even keys are on n2, odd ones on n3."""
TWO_PARTITIONS = "[cluster]\nnodes = 3\nvoters = 1\npartitions = 2\n"
SLOW_CATALOG = '[[apply]]\nnode = "n3"\nstage = "catalog"\ndelay_ms = 200\n'
"""n3's catalog takes 200 ms to learn of an update."""
