"""The clauses of IEP-98 and IEP-110 that are modelled: id, whether it says must, one sentence.

PROTOCOL.md is written from this list and says more about each; the two are kept equal by a test. A
clause that says must needs a mutant that breaks it. Properties that a judge checks (such as
98.ap) are no rules that could be left out, so they do not say must: the rules that uphold them do.
"""

from typing import Final, NamedTuple


class Clause(NamedTuple):
    """One sentence of the documents, or of ours where they are silent (x and ours)."""

    id: str
    must: bool
    sentence: str

    @property
    def document(self) -> str:
        """Which of the two documents it belongs to."""
        return "IEP-98" if self.id.startswith("98.") else "IEP-110"

    @property
    def source(self) -> str:
        """The document, or our reading of it."""
        ours = self.id.split(".")[1] in ("x", "ours")
        return f"ours, beside {self.document}" if ours else self.document


class PausePoint(NamedTuple):
    """A named point of the protocol code at which a scenario can stop a task."""

    name: str
    sentence: str
    source: str


def _rule(clause: str, sentence: str) -> Clause:
    return Clause(clause, must=True, sentence=sentence)


def _says(clause: str, sentence: str) -> Clause:
    return Clause(clause, must=False, sentence=sentence)


IEP_98: Final = (
    _rule("98.def.1", "a version is effective on [Tu, Tu'), its first instant included"),
    _says("98.def.2", "an update is visible to a node once the node's state machine applied it"),
    _rule("98.def.3", "the log has a member on every node: updates in order, once, without gaps"),
    _rule("98.one", "all participants of a committing transaction use one version per table"),
    _says("98.ap", "for every timestamp all nodes give the same answer to what is effective at it"),
    _rule("98.own", "once its DDL is acknowledged, a client sees it on any node, without a token"),
    _says("98.flow.1", "a DDL statement becomes one message to the meta storage"),
    _says("98.flow.2", "the meta storage brings the message to every node"),
    _says("98.flow.3", "each node interprets the activation timestamp alone"),
    _rule("98.flow.4", "a DDL is acknowledged once now >= Tu + CSmax, rounded up to a whole tick"),
    _says("98.safe.1", "a schema at Top is known once safe time is at least Top"),
    _rule("98.safe.2", "an update activates no earlier than its message: Tu >= Tm"),
    _says("98.safe.3", "while no update comes, idle safe-time commands keep safe time moving"),
    _says("98.past.1", "DD covers the propagation delay and the clock skew (advice on its size)"),
    _rule("98.past.2", "Tm is the leader's now, Tu = Tm + DD, and the message carries that DD"),
    _rule(
        "98.past.3", "to resolve at Top, wait for safeTime >= Top - DD and look up at Top itself"
    ),
    _says("98.risk.1", "an update is not visible at once, not even on the leader"),
    _says("98.risk.2", "a node that lags freezes its own transactions, and only those"),
    _rule("98.x.1", "message timestamps strictly increase across changes of the leader"),
    _rule("98.x.2", "no idle safe-time command has the timestamp of an update"),
    _rule("98.x.3", "safe time is published after the catalog's listeners ran"),
    _rule("98.x.4", "a reader's DD is never larger than the DD in the message"),
    _rule("98.x.5", "a command that is sent again is not appended with its old stamp"),
    _rule("98.x.6", "safe-time commands go through the log, under the leader's term"),
    _rule("98.x.7", "a restarted node restores safe time and issues no timestamp below an old one"),
    _rule("98.x.8", "a DDL rests on metadata that is complete for its node's now"),
)
"""Schema synchronization."""

IEP_110: Final = (
    _says("110.req.0", "transactions and DDL do not block each other; where one must, it aborts"),
    _says("110.req.1", "no transaction runs, or seems to have run, on two schemas of a table"),
    _says("110.req.2", "transactions that began before a table was created can use it"),
    _says("110.req.3", "an ALTER between begin and a table's first use does not abort"),
    _says(
        "110.flow.1", "the client sends with each request the schema version that it encoded with"
    ),
    _rule(
        "110.flow.2",
        "the coordinator resolves the version at baseTs, any other clientSV is refused",
    ),
    _rule("110.flow.3", "the coordinator sends the enlisted version to the primary"),
    _rule("110.flow.4", "one table has one enlisted version for the whole transaction"),
    _rule("110.flow.5", "the primary takes the enlisted version as I for every read and write"),
    _rule(
        "110.flow.6", "the coordinator takes the enlisted version as I when it validates the commit"
    ),
    _says("110.flow.7", "a schema failure is an error after which the client should retry"),
    _says("110.flow.8", "the client retries the transaction as a new one"),
    _says("110.border", "a transaction that crosses a DDL neither reads nor writes after it"),
    _rule("110.lin", "a DDL, taken as a transaction, is strictly serializable with all others"),
    _rule("110.valid.1", "at commit, I must be forward-compatible with the schema at commitTs"),
    _rule("110.valid.2", "an operation fails if the schema at opTs is not I"),
    _rule("110.valid.3", "an activation marks the transactions that it dooms as rollback-only"),
    _says("110.compat.scope", "changes of other tables, views and zones are compatible"),
    _rule("110.compat.steps", "over several versions, every step is judged, in sequence"),
    _rule("110.compat.compound", "a compound statement is its simple changes, in order"),
    _rule("110.compat.id", "columns are compared by id, never by name"),
    _says("110.fwd.1", "a tuple written under I may exist under C"),
    _says("110.fwd.2", "the upgrade of a tuple to C loses no information"),
    _says("110.fwd.3", "a reader on C cannot tell that a tuple was written under I"),
    _rule("110.back", "every change is backward-incompatible: a row written later than I aborts"),
    _says("110.table.create", "creating a table or view is compatible"),
    _says("110.table.drop", "dropping a table or view is incompatible"),
    _says("110.table.rename", "renaming a table or view is incompatible"),
    _rule(
        "110.table.exists", "a table that is missing at opTs fails the operation, not the commit"
    ),
    _says("110.column.add", "adding a column that is nullable or has a default is compatible"),
    _says("110.column.drop", "dropping a column is incompatible"),
    _says("110.column.rename", "renaming a column is compatible"),
    _says("110.column.nullable", "NOT NULL to NULL is compatible, the reverse is not"),
    _says("110.column.default", "any change of a default is incompatible"),
    _says("110.column.type", "an exact widening of a type is compatible, any other change is not"),
    _says("110.constraint.drop", "dropping a constraint is compatible"),
    _says("110.mixed", "all rules that match a change are applied in order; one no decides"),
    _says("110.view", "views are judged as tables are"),
    _says("110.zone", "zones need no handling; another partition count is refused"),
    _says(
        "110.quirk", "enlistTs and opTs may straddle an activation: one needless, retriable abort"
    ),
    _says("110.simple", "the simplified baseTs is max(beginTs, creation of the table)"),
    _says("110.later.1", "postponed: operations after a compatible DDL"),
    _says("110.later.2", "postponed: a NOT NULL column on an empty table"),
    _says("110.later.3", "postponed: a rename in two stages, with an alias"),
    _says("110.later.4", "postponed: some changes may be backward-compatible"),
    _rule("110.x.1", "the schema check is repeated at a new timestamp after the locks are granted"),
    _rule("110.x.2", "commitTs is larger than every opTs of the transaction, pipelined ones too"),
    _says("110.ours.constraint.add", "adding a constraint is incompatible"),
    _says("110.ours.index.create", "creating an index that is only registered is compatible"),
    _says("110.ours.index.unique", "creating a unique index is incompatible"),
    _says("110.ours.index.drop", "dropping an index is compatible"),
    _rule(
        "110.ours.index.build",
        "an index is built once no older transaction is open, and none of those commits then",
    ),
    _rule(
        "110.ours.index.entries",
        "an index that answers queries has an entry for each row, and no other",
    ),
    _rule("110.ours.unique", "no two live rows have equal values in a unique index in force"),
    _rule("110.ours.check", "no row is written that a CHECK of its schema version is false for"),
    _rule("110.ours.notnull", "no row is written without a value of a NOT NULL column"),
)
"""Basic schema changes."""

CLAUSES: Final = IEP_98 + IEP_110
"""Every clause, in the order of the documents."""

PAUSE_POINTS: Final = (
    PausePoint(
        "after-arrival-check",
        "at the primary: an operation's schema was checked on arrival, its locks not yet asked for",
        "110.valid.2",
    ),
    PausePoint(
        "before-commit-ts",
        "at the coordinator: the commit was asked for, its timestamp not yet taken",
        "110.flow.6",
    ),
    PausePoint(
        "after-commit-ts",
        "at the coordinator: the commit has its timestamp, its schema is not yet judged",
        "110.valid.1",
    ),
    PausePoint(
        "after-commit-check",
        "at the coordinator: the commit passed its schema check, its outcome not yet stored",
        "110.valid.1",
    ),
)
"""Where `[[pause]]` can stop a task of a node."""
