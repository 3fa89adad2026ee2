"""DDL statements: each a series of schema updates, and the work on entries between them.

An update is one transaction of the store. It reads the head and what the process lacks of the log,
builds the step on that, appends the update and writes the design's other keys; of two at a time one
fails and builds again. The update names its statement and step, so that a process which does not
learn its outcome finds it in the log.

    for each step of the plan: update -> settle -> entries (behind the wait, or before it if early)

How far a statement of several transactions is lies in a key of its process, which goes on from
there when it starts again. Two rows with the same values take a unique index away again, and so do
values that are too large for a key; a process that starts again behind the first step of that goes
on with taking it away, whatever the rows are by then.

Statements of one process run one after the other.
"""

from collections import deque
from typing import Final

from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.fdb.keys import Key as StoreKey
from ddlsim.history.events import DdlDecided
from ddlsim.layer.backfill import Filled, Work, erase, fill, work_of
from ddlsim.layer.design import Step
from ddlsim.layer.execution import Executor
from ddlsim.layer.keyspace import job_key, jobs_of, started_key
from ddlsim.layer.part import Part
from ddlsim.layer.rules.reading import head_of, numbered
from ddlsim.layer.schema import Update, Used
from ddlsim.layer.store import StoreTransaction, run
from ddlsim.layer.transaction import LayerTx
from ddlsim.layer.update import UNDONE, Attempt, Job, Known, Pause, undo_command, undone
from ddlsim.model.ddl import CreateIndex, DropIndex
from ddlsim.model.ports import Future
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Table
from ddlsim.protocol.messages import Answer, ClientDdl, Refusal
from ddlsim.protocol.schema.ddl import NoOp, Refused
from ddlsim.units import Timestamp

CONFLICT: Final = Refused(Reason.DDL_CONFLICT, "the schema changed at every attempt; try again")
TOO_LARGE: Final = Refused(Reason.TX_TOO_LARGE, "the statement writes more than the store takes")
LOST: Final = (ErrorCode.NOT_COMMITTED, ErrorCode.TRANSACTION_TOO_OLD)
"""Errors that count as an attempt of a statement."""
LARGE: Final = (
    ErrorCode.TRANSACTION_TOO_LARGE,
    ErrorCode.KEY_TOO_LARGE,
    ErrorCode.VALUE_TOO_LARGE,
)
"""Errors that come again at every attempt."""


class SchemaChange:
    """DDL of one process.

    `resumes`: an earlier incarnation may have left statements that it has not gone on with yet.
    """

    def __init__(self, part: Part, executor: Executor) -> None:
        self.part = part
        self.under_way: dict[str, None] = {}
        self.resumes = False
        self._asked: dict[str, None] = {}
        self._executor = executor
        self._queue: deque[Future[None]] = deque()
        part.node.on(ClientDdl, self.run)

    @property
    def is_busy(self) -> bool:
        """Whether a statement is under way."""
        return bool(self.under_way)

    async def run(self, _sender: str, request: ClientDdl) -> Answer | Refusal:
        """Install a client's statement, after those that came before it."""
        self._asked[request.op] = None
        known = await self._in_turn(Job(request.op, request.statement))
        token = Timestamp(self.part.log.number)
        if isinstance(known, Refused):
            return Refusal(token, known.reason, known.message)
        return Answer(token)

    async def resume(self) -> None:
        """Go on with the statements that an earlier incarnation has left.

        A client's new one may have begun by the time at which they are known: that is not left.
        """
        self.resumes = True
        for place, left in await self._left():
            if str(place[2]) in self._asked:
                continue
            assert isinstance(left, tuple), f"{left!r} is no job"
            self.part.node.probe("statement-resumed")
            await self._in_turn(Job(str(place[2]), *left)._replace(resumed=True))
        self.resumes = False

    async def _left(self) -> list[tuple[StoreKey, object]]:
        """The statements that this process has begun and not finished.

        What an earlier incarnation has sent has committed by then, or never does (`Job.write`).
        """
        process = self.part.node.name

        async def left(transaction: StoreTransaction) -> list[tuple[StoreKey, object]]:
            found = await transaction.get_range(*jobs_of(process))
            transaction.set(started_key(process), self.part.now_ms())
            return found

        return await run(self.part.store, left)

    async def _in_turn(self, job: Job) -> Refused | None:
        busy = self.is_busy
        self.under_way[job.op] = None
        if busy:
            turn: Future[None] = self.part.node.future()
            self._queue.append(turn)
            await turn
        try:
            await self.part.design.before_statement(self.part)
        except FdbError as error:
            if error.code not in LARGE:
                raise
            refused: Refused | None = TOO_LARGE
        else:
            refused = await self._statement(job)
            await self.part.design.after_statement(self.part)
        del self.under_way[job.op]
        if self._queue:
            self._queue.popleft().set(None)
        return refused

    # --- a statement ------------------------------------------------------------------------------

    async def _statement(self, job: Job) -> Refused | None:
        """Run the steps of a statement, and record what came of it."""
        steps = self.part.design.plan(job.statement)
        done: Update | Known | Refused
        if isinstance(steps, Refused):
            done = Known(steps, self.part.log.number, 0)
        else:
            done = await self._steps(job, steps)
        if isinstance(done, Known | Update):
            self._record(job, done)
        if isinstance(done, Known):
            return done.built if isinstance(done.built, Refused) else None
        return done if isinstance(done, Refused) else None

    async def _steps(self, job: Job, steps: tuple[Step, ...]) -> Update | Known | Refused:
        last: Update | None = None
        given_up: NoOp | Refused | None = None
        lasting = len(steps) > 1 or steps[0].after
        for number, step in enumerate(steps):
            if number < job.step:
                continue
            begin = job.begin if number == job.step else None
            job = job._replace(step=number, begin=begin)
            command, has_begun = f"{job.op}/{number}", job.resumed or last is not None
            done = await self._update(job, command, step, lasting=lasting, has_begun=has_begun)
            if undone(self.part.log, job.op) is not None:  # by an earlier incarnation
                await self._undo(job)
                return UNDONE
            if not isinstance(done, Update):
                if last is None:
                    return done
                given_up = done.built if isinstance(done, Known) else done
                break
            last = done
            refused = await self._entries(job, step, done)
            if refused is not None:
                return refused
        if lasting:
            await self._forget(job)
        assert last is not None, f"{job.op} has no step"
        return given_up if isinstance(given_up, Refused) else last

    async def _entries(self, job: Job, step: Step, update: Update) -> Refused | None:
        """Wait, and write or erase entries; those that cannot be written take the index away."""
        part = self.part
        if not step.early:
            await part.design.settle(part, update, step)
        for work in self._work(update) if step.after else ():
            refused = await self._worked(job, work)
            if refused is not None:
                await (self._undo(job) if work.filled else self._forget(job))
                return refused
        if step.early:
            await part.design.settle(part, update, step)
        return None

    def _work(self, update: Update) -> list[Work]:
        return work_of(update.objects, self.part.schema(update.number - 1).latest())

    async def _undo(self, job: Job) -> None:
        """Take the statement's index away; goes on behind the last step of that in the log."""
        part = self.part
        assert isinstance(job.statement, CreateIndex), f"{job.statement} fills no index"
        steps = part.design.plan(DropIndex(job.statement.name))
        assert not isinstance(steps, Refused), steps
        first = undone(part.log, job.op) or 0
        for number, step in enumerate(steps[first:], first):
            command = undo_command(job.op, number)
            done = await self._update(job, command, step, lasting=True, has_begun=True, undoes=True)
            if isinstance(done, Update):
                await part.design.settle(part, done, step)
                for erased in self._work(done) if step.after else ():
                    await self._worked(job, erased)
        await self._forget(job)

    # --- one update, and its entries --------------------------------------------------------------

    async def _update(
        self,
        job: Job,
        command: str,
        step: Step,
        *,
        lasting: bool,
        has_begun: bool,
        undoes: bool = False,
    ) -> Update | Known | Refused:
        """Commit one step of a statement; the first is refused after too many lost attempts.

        As long as an attempt may have committed, the log is read again: no statement is refused
        that is in force.
        """
        part = self.part
        lost, in_doubt = 0, False
        transaction = part.store.transaction()
        while has_begun or in_doubt or lost < part.node.settings.ddl_attempts:
            attempt = Attempt(
                part,
                transaction,
                self._executor,
                job,
                command,
                step,
                lasting=lasting,
                undoes=undoes,
            )
            try:
                done = await attempt.run()
            except FdbError as error:
                is_unknown = error.code is ErrorCode.COMMIT_UNKNOWN_RESULT
                in_doubt = is_unknown or (in_doubt and not attempt.has_looked)
                if not is_unknown:
                    attempt.failed()
                if error.code in LARGE:
                    return TOO_LARGE
                lost += error.code in LOST
                await transaction.on_error(error)
                continue
            if not isinstance(done, Pause):
                return done
            await part.node.sleep_by_clock(done.span_us)
            transaction = part.store.transaction()
        part.node.probe("ddl-attempts-exhausted")
        return CONFLICT

    async def _worked(self, job: Job, work: Work) -> Refused | None:
        """Write or erase entries, some rows at a time, or tell why the rows do not allow it."""
        part = self.part
        chunk = 0
        reading = part.store.transaction()
        while True:
            chunk += 1
            label = f"{job.op}/{job.step}.{chunk}@{part.node.watch.now_us}"
            writing = part.design.writes_entries(part, reading)
            tx = LayerTx(part.node, label, writing, part.settings.versions_per_second)
            try:
                filled = await self._chunk(job, work, reading, tx)
                if filled.refused is not None:
                    tx.aborted(filled.refused.reason)
                    return filled.refused
                after = job._replace(begin=filled.begin)
                after.write(part.node.name, writing)
                tx.mark_outcome()
                tx.committed(await writing.commit())
            except FdbError as error:
                if error.code in LARGE:
                    tx.aborted(TOO_LARGE.reason)
                    return TOO_LARGE
                if error.code is not ErrorCode.COMMIT_UNKNOWN_RESULT:
                    tx.aborted(Reason.TX_CONFLICT)
                await reading.on_error(error)
                continue
            job = after
            if filled.begin is None:
                return None
            reading = part.store.transaction()

    async def _chunk(self, job: Job, work: Work, reading: StoreTransaction, tx: LayerTx) -> Filled:
        """The work on some rows, under the newest schema; none is left of a dropped table.

        That schema need not be in force yet, so the transaction does not say that it used it.
        """
        part = self.part
        schema = await numbered(part, reading, await head_of(part, reading))
        tx.used = Used(schema, schema.latest())
        erase(tx.store, work)
        table = tx.used.snapshot.by_id(work.table.id)
        if not isinstance(table, Table):
            return Filled(None)
        now = work._replace(table=table)
        limit = part.design.chunk_rows
        return await fill(self._executor, reading, tx, job.op, now, job.begin, limit)

    async def _forget(self, job: Job) -> None:
        """The statement is finished."""
        part = self.part

        async def cleared(transaction: StoreTransaction) -> None:
            transaction.clear(job_key(part.node.name, job.op))

        await run(part.store, cleared)

    def _record(self, job: Job, done: Update | Known) -> None:
        """Record what came of a statement."""
        node, stamp = self.part.node, self.part.stamp
        outcome, asked_ts = "installed", Timestamp(0)
        if isinstance(done, Known):
            outcome = "noop" if isinstance(done.built, NoOp) else "refused"
            asked_ts = stamp(done.version)
            newest = self.part.schema(done.number).newest
            since, acknowledged = asked_ts if newest is None else stamp(newest.activation), asked_ts
        else:
            since = acknowledged = stamp(done.activation)
        node.probe(f"ddl-{outcome}")
        if node.recording:
            node.record(
                DdlDecided(
                    node.watch.now_us,
                    node.name,
                    job.op,
                    outcome,
                    done.number,
                    since,
                    acknowledged,
                    job.statement,
                    asked_ts,
                )
            )
