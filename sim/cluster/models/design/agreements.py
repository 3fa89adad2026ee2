"""The model of statements in which every node has a part: barriers, gates, locks, answers of all.

From strategies.md, A3, A4, A8 and B16. What a node has done once it has agreed:

* to be closed (A3): no open transaction there uses what is to change, and it resolves no schema
  until it opens; nothing closes a node for a change that it has opened for;
* to be unused (B16): no open transaction there uses what is to change;
* to be opened (A3), or that it knows the change (A8): its catalog has the version of the update.

An update goes into the log once every node has agreed to be closed or unused, or has heard of it
(A4), for all that the statement changed when the nodes were asked: what others have changed since
may have made another update of it. A statement ends once every node has the version that it rests
on, where the design asks for that.
"""

from types import SimpleNamespace
from typing import Any, ClassVar, Final, cast

from ddlsim.cluster.models.design.commit_questions import ended
from ddlsim.cluster.models.design.rule_forms import Rule
from ddlsim.cluster.models.divergence import Divergence, Models
from ddlsim.kernel.rng import mix
from ddlsim.model.ddl import Statement
from ddlsim.model.hlc import HybridClock
from ddlsim.protocol.barriers import Agreed, Barriers, Prepare, Switch, Users
from ddlsim.protocol.schema.ddl import Built
from ddlsim.protocol.strategy import SchemaChangePart
from ddlsim.protocol.transaction_record import ACTIVE
from ddlsim.units import Timestamp

WITHIN: Final = (
    "install_behind_a_barrier",
    "install_once_known_everywhere",
    "install_once_unused",
    "install_and_hear_from_all",
)
"""The rules for which nodes agree, without a limit of time."""
HOW: Final = dict(zip(WITHIN, ("closed", "told", "unused"), strict=False))
"""What every node has to be before the update."""
AT_LAST: Final = ("install_behind_a_barrier", "install_and_hear_from_all")
"""Those of an agreement to the version of the update."""
CLOSING: Final = ("install_behind_a_barrier", "install_behind_an_impatient_barrier")
"""The rules that close nodes."""
STEPS: Final = 40
"""How many requests a node takes beside a run."""


class ModelledBarriers(Barriers):
    """A node's side of agreements, compared when it agrees."""

    models: ClassVar[Models]

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._divergence = self.models.divergence("barriers", self.node.name)
        self.models.members = self._members

    async def _on_prepare(self, sender: str, request: Prepare) -> Agreed:
        answer: Agreed = await super()._on_prepare(sender, request)
        name, op = self.node.name, request.op
        is_over = (op, name) in self.models.switched
        if request.once_unused or (request.closes and not is_over):
            self._compare_unused(request)
        if request.closes and not is_over and self.is_open:
            self._divergence.found(f"{name} agrees to close for {op}, and is open")
        if request.closes and is_over and self._is_up.get(op):
            self._divergence.found(f"{name} closes for {op}, which is over")
        how = "unused" if request.once_unused else "closed" if request.closes else "told"
        known = self.models.prepared.setdefault((op, name, how), [])
        known += request.object_ids
        return answer

    def _compare_unused(self, request: Prepare) -> None:
        """No open transaction uses what is to change."""
        coordinator = self._users._coordinator  # type: ignore[attr-defined]  # those of `Marks`
        for tx in coordinator.transactions.values():
            if tx.state is ACTIVE and {*request.object_ids} & {*tx.by_id}:
                self._divergence.found(f"{request.op} is agreed to, and {tx.id.label} uses it")

    async def _on_switch(self, sender: str, request: Switch) -> Agreed:
        answer: Agreed = await super()._on_switch(sender, request)
        name, op = self.node.name, request.op
        version = self.models.catalogs[name].version
        if version < request.version:
            self._divergence.found(f"{name} agrees to {op} at {version}, before {request.version}")
        if self._is_up.get(op) or (self.is_open and self._waiting):
            self._divergence.found(f"{name} stays closed behind {op}")
        self.models.switched[op, name] = max(version, self.models.switched.get((op, name), 0))
        return answer


class Asking:
    """The barriers as the rule of one statement has them; `version` is the catalog's when asked."""

    def __init__(self, change: SchemaChangePart) -> None:
        self._change = change
        self.version = -1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._change.barriers, name)

    async def all_prepared(self, *given: Any, **named: Any) -> bool:
        """Ask every node, by the schema that there is now."""
        assert self._change.barriers is not None, "the design has barriers"
        self.version = self._change.catalog.latest().version
        return await self._change.barriers.all_prepared(*given, **named)


class Agreeing:
    """A node's side of DDL as the rule of one statement has it.

    `sent` is whether an update went into the log, `rests_on` the version that is acknowledged.
    """

    def __init__(
        self, change: SchemaChangePart, op: str, rule: str, divergence: Divergence
    ) -> None:
        self._change = change
        self._op = op
        self._rule = rule
        self._divergence = divergence
        self._models = divergence.models
        self.barriers = Asking(change)
        self.sent = False
        self.rests_on: int | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._change, name)

    def _wrong(self, what: str) -> None:
        self._divergence.found(f"{self._rule}: {self._op} {what}")

    async def submit(
        self, command_id: str, expected_version: int, built: Built
    ) -> tuple[bool, int]:
        """Send an update that every node has agreed to."""
        how = HOW.get(self._rule)
        if how is not None and not self.sent:
            is_same = how != "told" and self.barriers.version == expected_version
            ids = {one.object_id for one in built.objects} if is_same else set()
            for name in self._models.members:
                agreed = self._models.prepared.get((self._op, name, how))
                if agreed is None or ids - {*agreed}:
                    self._wrong(f"goes into the log, and {name} is {how} for {agreed}")
        self.sent = True
        return await self._change.submit(command_id, expected_version, built)

    async def acknowledge(self, op: str, outcome: str, version: int, *more: Any) -> None:
        """Note the version that the statement rests on."""
        self.rests_on = version
        await self._change.acknowledge(op, outcome, version, *more)

    def compare_end(self) -> None:
        """Every node has the version that the statement rests on."""
        closed = self._rule != "install_behind_a_barrier" or self.sent
        if self._rule not in AT_LAST or self.rests_on is None or not closed:
            return
        for name in self._models.members:
            version = self._models.switched.get((self._op, name), 0)
            if version < self.rests_on:
                self._wrong(f"ends at version {self.rests_on}, and {name} has agreed at {version}")


class Closing:
    """A node that is asked to close and to open, once, twice and late; each choice by a number.

    It runs beside a run: there, copies of a request to close seldom come behind the opening.
    """

    def __init__(self, models: Models, number: int) -> None:
        self._number, self._drawn = number, 0
        self._divergence = models.divergence("barriers", "walk, closing")
        self._node: Any = SimpleNamespace(
            name="n1", disk={}, clock=HybridClock(lambda: 1), on=lambda *_: None
        )
        self._aborted: list[tuple[int, ...]] = []
        self._over: dict[str, bool] = {}
        self._barriers = self._born()

    def _born(self) -> Barriers:
        users = SimpleNamespace(uses=lambda _: False, abort_users=self._aborted.append)
        return Barriers(self._node, ("n1",), _known_already, cast("Users", users))

    def _below(self, bound: int) -> int:
        self._drawn += 1
        return mix(self._number, self._drawn) % bound

    def take(self, steps: int) -> None:
        """Take some requests of a few statements, and restart now and then."""
        for _ in range(steps):
            op = f"d{self._below(3)}"
            if self._below(6) == 0:
                self._barriers = self._born()
            elif op not in self._over or self._below(2):
                self._prepare(op)
            else:
                ended(self._barriers._on_switch("n2", Switch(Timestamp(1), op, 1)))
                self._over[op] = True
            self._divergence.compare(
                f"whether it is open with {self._over}",
                self._barriers.is_open,
                all(self._over.values()),
            )

    def _prepare(self, op: str) -> None:
        self._aborted.clear()
        is_over = self._over.setdefault(op, False)
        ended(self._barriers._on_prepare("n2", Prepare(Timestamp(1), op, (7,), closes=True)))
        due = [] if is_over else [(7,)]
        self._divergence.compare(f"what is aborted for {op}, {is_over=}", self._aborted, due)


async def _known_already(_version: int) -> None:
    return


def walk_barriers(models: Models, seed: int) -> None:
    """Compare a node that closes beside the run of this seed, under a design with barriers."""
    Closing(models, mix(seed, 11)).take(STEPS)


def agreed(rule: Rule, divergence: Divergence) -> Rule:
    """A statement is sent, and ends, when all nodes have done their part."""

    async def compared(change: SchemaChangePart, op: str, statement: Statement) -> Any:
        agreeing = Agreeing(change, op, rule.__name__, divergence)
        decision = await rule(agreeing, op, statement)
        agreeing.compare_end()
        return decision

    compared.__name__ = rule.__name__
    return compared
