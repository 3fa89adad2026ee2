"""Limits, errors and watches of the client library beside a run, each as the documents have it.

Few worlds have transactions that are too large or too late, or watches. So beside each run some
transactions are brought to each of these ends, on a store that answers as it is asked to.
"""

from collections.abc import Callable, Coroutine
from itertools import count
from types import SimpleNamespace
from typing import Any, Final

from ddlsim.cluster.models.divergence import Divergence, Models
from ddlsim.cluster.store_models.library_walk import COMMITTED, SMALL, VERSION, done
from ddlsim.fdb.config import CONTROLLER
from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.fdb.keys import LOCAL, Key, pack
from ddlsim.fdb.messages import Commit, Committed, Failed, ReadVersion
from ddlsim.fdb.settings import FdbSettings
from ddlsim.fdb.transaction import Transaction, TxOptions
from ddlsim.fdb.watches import Watch
from ddlsim.units import US_PER_MS

SETTINGS: Final = FdbSettings(
    key_bytes=SMALL.key_bytes,
    value_bytes=SMALL.value_bytes,
    transaction_bytes=400,
    watches_most=2,
    backoff_ms=3,
    backoff_most_ms=20,
    version_rest_ms=7,
    local_keys=True,
)
A: Final[Key] = ("a",)
B: Final[Key] = ("b",)
HEAD: Final[Key] = (LOCAL, "head")
TEXT: Final = "x" * SETTINGS.value_bytes
LONGEST: Final[Key] = ("k" * (SETTINGS.key_bytes - 2),)
UNKNOWN: Final = Failed(ErrorCode.COMMIT_UNKNOWN_RESULT)
CONFLICT: Final = Failed(ErrorCode.NOT_COMMITTED, (b"a",))
PLAIN: Final = TxOptions()
TIMED_OUT: Final = ErrorCode.TIMED_OUT
Do = Callable[[Transaction], object]
_numbers = count(100)


class Asked:
    """A connection to a store that answers as it is asked to; `outcomes` are those of commits.

    `late` is called within each request: time may be over then.
    """

    def __init__(self, settings: FdbSettings, *outcomes: Failed) -> None:
        self.settings = settings
        self.config = SimpleNamespace(storages=("s1",))
        self.watches = 0
        self.sent: list[Commit] = []
        self.rests: list[int] = []
        self.tasks: list[Coroutine[Any, Any, Any]] = []
        self.limits: list[int] = []
        self.asked: list[tuple[object, ...]] = []
        self.late: Callable[[], object] = lambda: None
        self.over: Callable[[], object] = lambda: None
        self.cancelled = 0
        self._outcomes = list(outcomes)
        self._number = 0
        self.node = SimpleNamespace(
            name="n",
            probe=lambda _name: None,
            call_later=self._call_later,
            spread=self._spread,
            sleep=self._sleep,
            spawn=self.tasks.append,
            future=Once,
        )

    def _call_later(self, limit_us: int, over: Callable[[], object]) -> Any:
        self.limits.append(limit_us)
        self.over = over
        return SimpleNamespace(cancel=self._cancel)

    def _cancel(self) -> None:
        self.cancelled += 1

    def _spread(self, _purpose: str, bound_us: int) -> int:
        return bound_us

    async def _sleep(self, span_us: int) -> None:
        self.rests.append(span_us)

    def patient(self) -> None:
        """The check of what has no time limit."""

    async def read_version(self, _check: object, **_: object) -> ReadVersion:
        self.late()
        return ReadVersion(VERSION, 1)

    def metadata_version_at(self, _version: int) -> int | None:
        return None

    async def get(self, key: bytes, version: int, _check: object) -> object:
        self.late()
        self.asked.append((key, version))
        if key == pack(("gone",)):
            raise FdbError(ErrorCode.TRANSACTION_TOO_OLD)
        return 5

    async def get_from(self, team: object, key: bytes, version: int, _check: object) -> object:
        self.late()
        self.asked.append((team, key, version))
        return 6

    async def get_range(self, *_: object) -> tuple[list[tuple[bytes, object]], bytes]:
        self.late()
        return [], pack(("z",))

    def next_number(self) -> int:
        self._number += 1
        return self._number

    async def commit(self, request: Commit, _check: object) -> Committed | Failed:
        self.late()
        self.sent.append(request)
        done = Committed(COMMITTED, ReadVersion(COMMITTED, 1))
        return self._outcomes.pop(0) if self._outcomes else done

    async def changed(self, key: bytes, value: object, version: int) -> None:
        self.asked.append((key, value, version))
        if len(self.asked) % 3:
            raise FdbError((TIMED_OUT, ErrorCode.FUTURE_VERSION)[len(self.asked) % 3 - 1])


class Once:
    """A future that is looked at and not awaited."""

    def __init__(self) -> None:
        self.times = 0

    def set(self, _value: object) -> None:
        self.times += 1


def outcome(task: Coroutine[Any, Any, Any]) -> object:
    """The result of a task, or the code of its error."""
    try:
        return done(task)
    except FdbError as error:
        return error.code


class Ends:
    """The ends of transactions."""

    def __init__(self, divergence: Divergence) -> None:
        self._same = divergence.compare

    def compare(self) -> None:
        """Bring transactions to each end."""
        self._sizes()
        self._times()
        self._switches()
        self._errors()
        self._unknown()
        self._watches()
        self._watches_of_failures()

    def _begun(
        self, *outcomes: Failed, options: TxOptions = PLAIN, settings: FdbSettings = SETTINGS
    ) -> tuple[Asked, Transaction]:
        asked = Asked(settings, *outcomes)
        return asked, Transaction(asked, options)  # type: ignore[arg-type]  # stands in

    # --- limits -----------------------------------------------------------------------------------

    def _sizes(self) -> None:
        """A key and a value may be as large as the limit; many together are too large."""
        sizes = {"values": 23, "additions": 11, "stamped values": 3, "stamped keys": 20}
        sizes |= {"ranges": 6, "reads": 9}
        for kind, (what, size) in enumerate(sizes.items()):
            asked, tx = self._begun()
            tx.set(A, 1)
            for _ in range(1 + SETTINGS.transaction_bytes // size):
                _each(tx, kind)
            too_large = ErrorCode.TRANSACTION_TOO_LARGE
            self._same(f"a transaction of many {what}", outcome(tx.commit()), too_large)
            self._same("what is sent of it", asked.sent, [])
        _, tx = self._begun()
        tx.set(LONGEST, TEXT)
        tx.add(("c",), 1)
        self._same("a transaction at the limits", outcome(tx.commit()), COMMITTED)
        longer: Key = ("k" * (SETTINGS.key_bytes - 1),)
        refused: tuple[tuple[ErrorCode, Do], ...] = (
            (ErrorCode.VALUE_TOO_LARGE, lambda tx: tx.set(A, TEXT + "x")),
            (ErrorCode.KEY_TOO_LARGE, lambda tx: tx.set(longer, 1)),
            (ErrorCode.KEY_TOO_LARGE, lambda tx: tx.add(longer, 1)),
            (ErrorCode.KEY_TOO_LARGE, lambda tx: tx.set_versionstamped_value(longer, str)),
            (ErrorCode.VALUE_TOO_LARGE, lambda tx: tx.set_versionstamped_value(A, _too_large)),
            (ErrorCode.KEY_TOO_LARGE, lambda tx: tx.set_versionstamped_key(lambda _: longer, 1)),
            (ErrorCode.VALUE_TOO_LARGE, lambda tx: tx.set_versionstamped_key(_key, TEXT + "x")),
        )
        for code, write in refused:
            self._same("a write beyond the limits", _raised(self._begun()[1], write), code)

    def _times(self) -> None:
        """Once its time is over a transaction does nothing more, and a request under way fails."""
        limited = TxOptions(timeout_us=7)
        waits: tuple[Callable[[Transaction], Coroutine[Any, Any, Any]], ...] = (
            lambda tx: tx.read_version(),
            lambda tx: tx.get(A),
            lambda tx: tx.get_range(A, B),
            lambda tx: tx.local(HEAD),
            lambda tx: tx.metadata_version(),
            lambda tx: tx.commit(),
        )
        for has_version in (False, True):
            for wait in waits:
                asked, tx = self._begun(options=limited)
                if has_version:
                    tx.set_read_version(VERSION)
                asked.late = asked.over
                tx.set(B, 1)
                if has_version and wait is waits[-1]:
                    asked.over()
                if not has_version or wait is not waits[0]:
                    self._same("what comes too late", outcome(wait(tx)), TIMED_OUT)
                self._same("the time limit", asked.limits, [7])
                self._same("what is sent too late", asked.sent, [])
        for outcomes in ((), (CONFLICT,)):
            asked, tx = self._begun(*outcomes, options=limited)
            tx.set(B, 1)
            outcome(tx.commit())
            self._same("how often the limit is lifted", asked.cancelled, int(not outcomes))
        asked, tx = self._begun(options=limited)
        asked.over()
        late = tx.on_error(FdbError(ErrorCode.NOT_COMMITTED))
        self._same("another try too late", outcome(late), TIMED_OUT)
        asked, tx = self._begun(UNKNOWN, options=limited)
        tx.set(B, 1)
        asked.late = asked.over if outcome(tx.read_version()) else asked.late
        self._same("an unknown outcome too late", outcome(tx.commit()), TIMED_OUT)

    def _switches(self) -> None:
        """What FoundationDB lacks is there with its switch alone."""
        for settings in (SETTINGS, SMALL):
            local, past = settings.local_keys, settings.past_read_conflicts
            tries: tuple[tuple[bool, Do], ...] = (
                (local, lambda tx: outcome(tx.local(HEAD))),
                (local, lambda tx: tx.require_local(HEAD, 1)),
                (past, lambda tx: tx.add_read_conflict_key(A, since=1)),
                (settings.future_write_conflicts, lambda tx: tx.add_write_conflict_key(A, at=99)),
                (not local, lambda tx: tx.clear_range((LOCAL,), (LOCAL, "z"))),
                (True, lambda tx: tx.clear_range(A, B)),
            )
            for allowed, use in tries:
                raised = _raised(self._begun(settings=settings)[1], use)
                self._same("a call without its switch", raised is None, allowed)
        asked, tx = self._begun()
        self._same("a local key", outcome(tx.local(HEAD)), 6)
        self._same("how it is asked for", asked.asked, [(("s1",), pack(HEAD), VERSION)])
        tx.require_local(HEAD, 3)
        tx.set(A, 1)
        outcome(tx.commit())
        required = [one.required for one in asked.sent]
        self._same("what is required", required, [((pack(HEAD), 3),)])

    # --- errors -----------------------------------------------------------------------------------

    def _errors(self) -> None:
        """Behind an error it rests, longer each time, and is empty; some errors are final."""
        for code in ErrorCode:
            asked, tx = self._begun()
            tx.set(A, 1)
            got = outcome(tx.on_error(FdbError(code)))
            self._same(f"another try after {code}", got, None if code.retriable else code)
            self._same(f"the rest after {code}", len(asked.rests), int(code.retriable))
        asked, tx = self._begun()
        for _ in range(6):
            tx.set(A, 1)
            tx.set_read_version(9)
            outcome(tx.on_error(FdbError(ErrorCode.NOT_COMMITTED)))
        self._same("a value behind an error", outcome(tx.get(A)), 5)
        self._same("the version behind an error", outcome(tx.commit()), VERSION)
        due = [min(3 << tries, 20) * US_PER_MS + 1 for tries in range(6)]
        self._same("the rests", asked.rests, due)
        asked, tx = self._begun()
        for code in (ErrorCode.TRANSACTION_TOO_OLD, ErrorCode.FUTURE_VERSION) * 2:
            outcome(tx.on_error(FdbError(code)))
        outcome(tx.on_error(FdbError(ErrorCode.NOT_COMMITTED)))
        due = [7 * US_PER_MS] * 4 + [3 * US_PER_MS + 1]
        self._same("the rests behind versions", asked.rests, due)
        asked, tx = self._begun()
        outcome(tx.get(A))
        outcome(tx.on_error(FdbError(ErrorCode.NOT_COMMITTED)))
        outcome(tx.get(A))
        self._same("what is read before an error, and anew", asked.asked, [(pack(A), VERSION)] * 2)
        tx.set(B, 1)
        outcome(tx.on_error(FdbError(ErrorCode.NOT_COMMITTED)))
        tx.set(A, 1)
        outcome(tx.commit())
        reads = [one for one in asked.sent[0].reads if one in (pack(A), pack(B))]
        self._same("conflicts from before an error", reads, [])

    def _unknown(self) -> None:
        """An unknown transaction is ended by one that conflicts with it, or not if that is asked.

        Any other outcome is final at once.
        """
        for risky in (False, True):
            for outcomes in ((UNKNOWN,), (UNKNOWN, UNKNOWN, CONFLICT), (CONFLICT,)):
                asked, tx = self._begun(*outcomes, options=TxOptions(causal_write_risky=risky))
                tx.add_read_conflict_range(A, B)
                tx.clear_range(A, B)
                tx.set(B, 1)
                self._same("its outcome", outcome(tx.commit()), outcomes[0].code)
                ends = not risky and outcomes[0] is UNKNOWN
                self._same("how often is sent", len(asked.sent), 1 + len(outcomes) * ends)
                first, *others = asked.sent
                both = {one for one in first.reads if one in first.writes and type(one) is bytes}
                self._same("whether it conflicts with itself", bool(both), not risky)
                for one in others:
                    self._same("what ends it", {*one.reads} & both, {*one.reads} or both)
                    self._same("what ends it", {*one.writes}, {*one.reads})
                self._same("rests between", len(asked.rests), max(len(others) - 1, 0))
                numbers = [one.number for one in asked.sent]
                self._same("numbers of commits", len({*numbers}), len(numbers))

    # --- watches ----------------------------------------------------------------------------------

    def _watches(self) -> None:
        """A watch is armed at commit, with what the transaction left, and fires at another value.

        Of what it has not written itself, the store's value at its read version counts.
        """
        left: tuple[tuple[Do, object, bool], ...] = (
            (lambda tx: None, 5, True),
            (lambda tx: tx.set(A, 8), 8, False),
            (lambda tx: tx.clear(A), None, False),
            (lambda tx: tx.add(A, 1), 5, True),
            (lambda tx: tx.set_versionstamped_value(A, str), 5, True),
        )
        for write, seen, is_asked in left:
            asked, tx = self._begun()
            other, watch = tx.watch(B), tx.watch(A)
            self._same("what begins before the commit", asked.tasks, [])
            write(tx)
            version = outcome(tx.commit())
            self._same("the watches that are armed", len(asked.tasks), 2)
            if len(asked.tasks) < 2:
                return
            asked.tasks[0].close()
            outcome(asked.tasks[1])
            first = [(pack(A), VERSION)] if is_asked else []
            due = [*first, *[(pack(A), seen, version)] * (3 - len(first))]
            self._same("what a watch asks for", asked.asked, due)
            rests = [SETTINGS.version_rest_ms] * (not is_asked) + [SETTINGS.watch_poll_ms]
            self._same("its rests", asked.rests, [one * US_PER_MS for one in rests])
            fired = [_fired(one) for one in (other, watch)]
            self._same("how often watches fire", fired, [0, 1])
            self._same("the watches left", asked.watches, 1)
            outcome(tx.commit())
            self._same("the watches armed once more", len(asked.tasks), 2)

    def _watches_of_failures(self) -> None:
        """A failed transaction's watches end; there are only so many; an unreadable key fires."""
        asked, tx = self._begun()
        tx.watch(A), tx.watch(B)
        too_many = ErrorCode.TOO_MANY_WATCHES
        self._same("one watch too many", _raised(tx, lambda tx: tx.watch(A)), too_many)
        outcome(tx.on_error(FdbError(ErrorCode.NOT_COMMITTED)))
        self._same("the watches behind an error", asked.watches, 0)
        tx.watch(A)
        tx.cancel()
        self._same("the watches of what is given up", asked.watches, 0)
        failed, writing = self._begun(CONFLICT)
        writing.watch(A)
        writing.set(A, 1)
        outcome(writing.commit())
        self._same("the watches behind a commit that failed", failed.watches, 0)
        watch = tx.watch(("gone",))
        outcome(tx.commit())
        for task in asked.tasks:
            outcome(task)
        self._same("how often an unreadable key fires", _fired(watch), 1)
        self._same("the watches left of it", asked.watches, 0)


def _fired(watch: Watch) -> int:
    """How often a watch has fired."""
    future: Any = watch.fired
    return int(future.times)


def _key(version: int) -> Key:
    return ("s", version)


def _too_large(version: int) -> str:
    return f"{TEXT}{version}"


def _each(tx: Transaction, what: int) -> None:
    """One of many writes, or reads."""
    if what == 0:
        tx.set(A, TEXT)
    elif what == 1:
        tx.add(B, 1)
    elif what == 2:
        tx.set_versionstamped_value(A, str)
    elif what == 3:
        tx.set_versionstamped_key(_key, TEXT)
    elif what == 4:
        tx.clear_range(A, B)
    else:
        tx.add_read_conflict_range((f"k{next(_numbers)}",), ("z",))


def _raised(tx: Transaction, use: Do) -> object:
    """The error of a call: its code, or the exception's type; None if there is none."""
    try:
        use(tx)
    except FdbError as error:
        return error.code
    except ValueError as error:
        return type(error)
    return None


def walk_ends(models: Models) -> None:
    """Compare the ends of transactions beside a run."""
    Ends(models.divergence("library", CONTROLLER)).compare()
