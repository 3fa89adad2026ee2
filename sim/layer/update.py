"""One attempt to commit a schema update: a transaction of the store."""

from typing import Final, NamedTuple

from ddlsim.fdb.keys import Key
from ddlsim.layer.backfill import erase, fill, work_of
from ddlsim.layer.design import OwnIndex, Publication, Step
from ddlsim.layer.execution import Executor
from ddlsim.layer.keyspace import job_key, log_key, started_key
from ddlsim.layer.part import Part
from ddlsim.layer.rules.reading import head_of, numbered
from ddlsim.layer.schema import Schema, Update, Used
from ddlsim.layer.store import StoreTransaction
from ddlsim.layer.transaction import LayerTx
from ddlsim.model.ddl import IndexCreated, IndexStateSet, ObjectChange, Statement
from ddlsim.model.reasons import Reason
from ddlsim.protocol.schema.ddl import Built, NoOp, Refused
from ddlsim.units import Micros

UNDONE: Final = Refused(Reason.DDL_CONFLICT, "the index could not be built")


class Known(NamedTuple):
    """A step that changes nothing, on the schema of a number at a version of the store."""

    built: NoOp | Refused
    number: int
    version: int


class Pause(NamedTuple):
    """The step must wait so long."""

    span_us: Micros


class Job(NamedTuple):
    """A statement, its first step that may be unfinished, and how far that one's entries are;
    `resumed`: an earlier incarnation has begun it."""

    op: str
    statement: Statement
    step: int = 0
    begin: Key | None = None
    resumed: bool = False

    def write(self, process: str, transaction: StoreTransaction) -> None:
        """Write how far it is with the other writes of a transaction.

        That transaction does not commit once the process has died and looked for its statements: it
        would begin, or take up again, one that is not found any more.
        """
        transaction.add_read_conflict_key(started_key(process))
        transaction.set(job_key(process, self.op), (self.statement, self.step, self.begin))


class Attempt:
    """The transaction of one step; `lasting`: the statement takes further ones.

    `has_looked`: it has read the log, and no earlier attempt has committed the step. `undoes`: the
    step takes the index away again; no other one is built once one of these is in the log.
    """

    def __init__(
        self,
        part: Part,
        transaction: StoreTransaction,
        executor: Executor,
        job: Job,
        command: str,
        step: Step,
        *,
        lasting: bool,
        undoes: bool = False,
    ) -> None:
        self.transaction = transaction
        self.has_looked = False
        self._part = part
        self._executor = executor
        self._job = job
        self._command = command
        self._step = step
        self._lasting = lasting
        self._undoes = undoes
        self._tx: LayerTx | None = None

    async def run(self) -> Update | Known | Pause:
        """Build the step on the newest schema and commit it, unless it is in the log already."""
        part, transaction = self._part, self.transaction
        schema = await numbered(part, transaction, await head_of(part, transaction))
        stored = next((one for one in schema.updates if one.command == self._command), None)
        if stored is not None:
            return stored
        self.has_looked = True
        version = await transaction.read_version()
        if not self._undoes and undone(schema, self._job.op) is not None:
            return Known(UNDONE, schema.number, version)
        pause = await part.design.pause_before(part, transaction, schema)
        if pause:
            return Pause(pause)
        built = self._step.building(schema.latest(), own_index(schema, self._job.op))
        if not isinstance(built, Built):
            return Known(built, schema.number, version)
        objects = tuple(one.object_id for one in built.objects)
        free = await part.design.exclude(part, transaction, self._command, objects)
        if isinstance(free, Reason):
            return Known(Refused(free, free.sentence), schema.number, version)
        if free:
            return Pause(free)
        new = self._published(schema, version, built.objects)
        after = schema.extended((new.make(version),))
        part.design.own_change(part, after)
        refused = await self._inside(schema, after, built) if self._step.inside else None
        if refused is not None:
            self.failed()
            return Known(refused, schema.number, version)
        if self._lasting:
            self._job.write(part.node.name, transaction)
        update = new.make(await transaction.commit())
        part.learn((update,))
        if self._tx is not None:
            self._tx.committed(update.version)
        return update

    def failed(self) -> None:
        """Record that what it wrote is void."""
        if self._tx is not None:
            self._tx.aborted(Reason.TX_CONFLICT)
            self._tx = None

    def _published(
        self, schema: Schema, version: int, objects: tuple[ObjectChange, ...]
    ) -> Publication:
        """Write the update to the log, and whatever else the design's readers look at."""
        part, command, op = self._part, self._command, self._job.op
        number = schema.number + 1
        activation, distance = part.design.activation, part.distance
        name = part.node.name

        def make(committed: int) -> Update:
            since = activation(version, committed, distance)
            return Update(number, name, op, command, committed, since, objects)

        new = Publication(schema, number, tuple(one.object_id for one in objects), version, make)
        self.transaction.set_versionstamped_value(log_key(number), make)
        part.design.publish(part, self.transaction, new)
        return new

    async def _inside(self, before: Schema, after: Schema, built: Built) -> Refused | None:
        """Do the work of the update in its transaction, or say why the rows do not allow it."""
        for work in work_of(built.objects, before.latest()):
            erase(self.transaction, work)
            if not work.needs_rows:
                continue
            tx = self._tx or self._begun(after)
            tx.tables[work.table.id] = work.table
            filled = await fill(
                self._executor, self.transaction, tx, self._job.op, work, None, None
            )
            if filled.refused is not None:
                return filled.refused
        if self._tx is not None:
            self._tx.mark_outcome()
        return None

    def _begun(self, after: Schema) -> LayerTx:
        rate, node = self._part.settings.versions_per_second, self._part.node
        label = f"{self._command}@{node.watch.now_us}"
        self._tx = LayerTx(node, label, self.transaction, rate)
        self._tx.used = Used(after, after.latest())
        return self._tx


def undo_command(op: str, number: int) -> str:
    """The command of a step that takes the index of a statement away again."""
    return f"{op}/undo{number}"


def undone(schema: Schema, op: str) -> int | None:
    """The last step in the log by which a statement has begun to take its index away; None: none.

    An earlier incarnation may have written it: what the rows are by now changes nothing of that.
    """
    start = undo_command(op, 0)[:-1]
    found = [one.command for one in schema.updates if one.command.startswith(start)]
    return int(found[-1].removeprefix(start)) if found else None


def own_index(schema: Schema, op: str) -> OwnIndex | None:
    """The index that the first update of a statement has created or changed; None: none yet."""
    first = next((one for one in schema.updates if one.op == op), None)
    for changed in () if first is None else first.objects:
        for change in changed.changes:
            match change:
                case IndexCreated(index=index):
                    return OwnIndex(changed.object_id, index.id)
                case IndexStateSet(index_id=index_id):
                    return OwnIndex(changed.object_id, index_id)
    return None
