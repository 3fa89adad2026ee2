------------------------------ MODULE iep110 ------------------------------
(* Transactions that cross a DDL, as ddlsim's scope `iep110` explores them.  *)
(*                                                                           *)
(* One table, whose rows are spread over the nodes; node 1 leads the meta    *)
(* storage. What IEP-98 ensures is taken for granted: a resolution at a time *)
(* returns what the whole log says for it. Clocks are hybrid logical ones.   *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    nodes,          \* nodes; the first one leads the meta storage
    time,           \* the last tick of every clock
    ddls,           \* DDLs that may be logged
    dd,             \* DD, the delay duration
    transactions,   \* number t is coordinated by node t (mod nodes)
    operations,     \* operations of a transaction at most
    keys,           \* rows; the primary of number k is node k + 1 (mod nodes)
    judged,         \* the invariants that are judged
    \* the rules, each by the name of a choice
    operation, checked, commit

VARIABLES
    now,    \* by node: its clock
    log,    \* the DDLs: Tu, and whether the change is forward-compatible
    tx,     \* by transaction: what it has done
    rows,   \* by key: the transactions that wrote it, in order
    broken  \* the invariants that the last action broke

vars == <<now, log, tx, rows, broken>>

Nodes == 1..nodes
Tx == 1..transactions
Keys == 1..keys
Coordinator(t) == 1 + ((t - 1) % nodes)
Primary(k) == 1 + (k % nodes)
Max(S) == CHOOSE x \in S : \A y \in S : x >= y
Min(S) == CHOOSE x \in S : \A y \in S : x <= y

\* The version at ts: how many changes have activated by then.
Version(ts) == Cardinality({i \in 1..Len(log) : log[i].tu <= ts})
Steps(from, to) == (from + 1)..to
AllCompatible(steps) == \A i \in steps : log[i].compatible

Idle == [phase |-> "idle", initial |-> 0, lowest |-> 0, highest |-> 0, seen |-> 0,
         operations |-> 0, asked |-> <<>>, reads |-> {}, wrote |-> {}]
Gone == [Idle EXCEPT !.phase = "aborted"]

\* A timestamp of node n above `above`, the clocks with it, and whether the
\* schema at that time can be resolved.
Stamp(n, above) == Max({now[n], above}) + 1
Stamped(n, ts) == [now EXCEPT ![n] = ts]
MayStamp(n, ts) == ts <= time /\ Stamped(n, ts)[1] + dd >= ts

-----------------------------------------------------------------------------
\* The rules.

\* Whether an operation at ts may run, I after it, and the version it runs under.
Passes(t, ts) ==
    CASE operation = "same_as_initial"    -> Version(ts) = tx[t].initial
      [] operation = "follows_compatible" -> AllCompatible(Steps(tx[t].initial, Version(ts)))
      [] OTHER                            -> TRUE
Initial(t, ts) == IF operation \in {"follows_compatible", "follows_any"}
                  THEN Version(ts) ELSE tx[t].initial
Used(t, ts) == IF operation = "goes_on" THEN tx[t].initial ELSE Version(ts)
Run(t, ts) ==
    LET used == Used(t, ts) first == tx[t].operations = 0 IN
    [tx[t] EXCEPT !.initial = Initial(t, ts),
                  !.lowest = IF first THEN used ELSE Min({@, used}),
                  !.highest = IF first THEN used ELSE Max({@, used})]

MayCommit(t, ts) ==
    LET steps == Steps(tx[t].initial, Version(ts)) IN
    CASE commit = "at_commit_ts"           -> AllCompatible(steps)
      [] commit = "last_step_at_commit_ts" -> steps = {} \/ log[Max(steps)].compatible
      [] commit = "at_last_op_ts"          ->
             AllCompatible(Steps(tx[t].initial, Version(tx[t].seen)))
      [] commit = "never"                  -> TRUE

-----------------------------------------------------------------------------
\* The serialization graph of DDLs and committed transactions.

Committed(s) == {t \in Tx : s[t].phase = "committed"}
D(i) == <<"D", i>>
T(t) == <<"T", t>>
Vertices(s) == {D(i) : i \in 1..Len(log)} \cup {T(t) : t \in Committed(s)}

PrecedesNext(s, r, t) ==
    \/ ~log[s[t].lowest + 1].compatible
    \/ \E x \in s[t].reads : x.writes > 0 /\ s[r[x.key][x.writes]].highest > s[t].lowest

Edges(s, r) ==
    {<<D(i), D(i + 1)>> : i \in 1..(Len(log) - 1)}
    \cup {<<D(s[t].highest), T(t)>> : t \in {u \in Committed(s) : s[u].highest > 0}}
    \cup {<<T(t), D(s[t].lowest + 1)>> :
             t \in {u \in Committed(s) : s[u].lowest < Len(log) /\ PrecedesNext(s, r, u)}}
    \cup UNION {{<<T(r[x.key][x.writes]), T(t)>> : x \in {y \in s[t].reads : y.writes > 0}} :
                   t \in Committed(s)}
    \cup UNION {UNION {{<<T(t), T(r[x.key][i])>> :
                           i \in {j \in (x.writes + 1)..Len(r[x.key]) : r[x.key][j] # t}} :
                       x \in s[t].reads} : t \in Committed(s)}
    \cup UNION {{<<T(r[k][i]), T(r[k][i + 1])>> : i \in 1..(Len(r[k]) - 1)} : k \in Keys}

HasSerialOrder(s, r) ==
    LET V == Vertices(s) IN
    \E place \in [V -> 1..Cardinality(V)] :
        \A e \in Edges(s, r) : place[e[1]] < place[e[2]]

-----------------------------------------------------------------------------
\* The actions.

Init == /\ now = [n \in Nodes |-> 0]
        /\ log = <<>>
        /\ tx = [t \in Tx |-> Idle]
        /\ rows = [k \in Keys |-> <<>>]
        /\ broken = {}

Tick(n) ==
    /\ now[n] < time
    /\ now' = [now EXCEPT ![n] = @ + 1]
    /\ UNCHANGED <<log, tx, rows, broken>>

Log(compatible) ==
    /\ Len(log) < ddls
    /\ now[1] < time
    /\ now' = [now EXCEPT ![1] = @ + 1]
    /\ log' = Append(log, [tu |-> now[1] + 1 + dd, compatible |-> compatible])
    /\ UNCHANGED <<tx, rows, broken>>

\* The coordinator resolves the table at base_ts: I.
Enlist(t) ==
    LET c == Coordinator(t) ts == Stamp(c, 0) IN
    /\ tx[t].phase = "idle"
    /\ MayStamp(c, ts)
    /\ now' = Stamped(c, ts)
    /\ tx' = [tx EXCEPT ![t].phase = "running", ![t].initial = Version(ts), ![t].seen = ts]
    /\ UNCHANGED <<log, rows, broken>>

\* An operation arrives at the primary of its key, and gets an op_ts.
Arrive(t, kind, k) ==
    LET p == Primary(k) ts == Stamp(p, tx[t].seen) IN
    /\ tx[t].phase = "running"
    /\ tx[t].operations < operations
    /\ MayStamp(p, ts)
    /\ now' = Stamped(p, ts)
    /\ tx' = [tx EXCEPT ![t] = IF Passes(t, ts)
                               THEN [@ EXCEPT !.phase = "waiting", !.asked = <<kind, k, ts>>]
                               ELSE Gone]
    /\ UNCHANGED <<log, rows, broken>>

IsFree(t, kind, k) ==
    \A u \in Tx \ {t} :
        tx[u].phase \in {"running", "waiting", "stamped"} =>
            /\ k \notin tx[u].wrote
            /\ kind = "write" => \A x \in tx[u].reads : x.key # k

\* An operation gets its lock and is executed.
Grant(t) ==
    LET kind == tx[t].asked[1]
        k == tx[t].asked[2]
        p == Primary(k)
        again == checked = "after_locks"
        ts == IF again THEN Stamp(p, 0) ELSE tx[t].asked[3]
        run == Run(t, ts)
        saw == IF kind = "read" /\ k \notin tx[t].wrote
               THEN {[key |-> k, writes |-> Len(rows[k])]} ELSE {}
        done == [run EXCEPT !.phase = "running", !.seen = Max({@, ts}), !.operations = @ + 1,
                            !.asked = <<>>, !.reads = @ \cup saw,
                            !.wrote = IF kind = "write" THEN @ \cup {k} ELSE @]
    IN /\ tx[t].phase = "waiting"
       /\ IsFree(t, kind, k)
       /\ again => MayStamp(p, ts)
       /\ now' = IF again THEN Stamped(p, ts) ELSE now
       /\ IF Passes(t, ts)
          THEN /\ tx' = [tx EXCEPT ![t] = done]
               /\ broken' = (IF done.lowest # done.highest THEN {"I5"} ELSE {}) \cap judged
          ELSE tx' = [tx EXCEPT ![t] = Gone] /\ UNCHANGED broken
       /\ UNCHANGED <<log, rows>>

\* The coordinator takes commit_ts, and checks.
TakeCommitTs(t) ==
    LET c == Coordinator(t) ts == Stamp(c, tx[t].seen) IN
    /\ tx[t].phase = "running"
    /\ tx[t].operations > 0
    /\ MayStamp(c, ts)
    /\ now' = Stamped(c, ts)
    /\ tx' = [tx EXCEPT ![t] = IF MayCommit(t, ts)
                               THEN [@ EXCEPT !.phase = "stamped", !.seen = ts] ELSE Gone]
    /\ UNCHANGED <<log, rows, broken>>

\* The primaries make what was written visible, and give the locks back.
Finish(t) ==
    LET one == tx[t]
        s == [tx EXCEPT ![t].phase = "committed"]
        r == [k \in Keys |-> IF k \in one.wrote THEN Append(rows[k], t) ELSE rows[k]]
    IN /\ one.phase = "stamped"
       /\ now' = [n \in Nodes |-> IF \E k \in one.wrote : Primary(k) = n
                                  THEN Max({now[n], one.seen}) ELSE now[n]]
       /\ tx' = s
       /\ rows' = r
       /\ broken' = judged \cap
              ((IF one.lowest # one.highest THEN {"I2"} ELSE {})
               \cup (IF HasSerialOrder(s, r) THEN {} ELSE {"I3"})
               \cup (IF AllCompatible(Steps(one.initial, Version(one.seen))) THEN {} ELSE {"I8"}))
       /\ UNCHANGED log

Next == /\ broken = {}
        /\ \/ \E t \in Tx : \/ Enlist(t)
                            \/ \E kind \in {"read", "write"}, k \in Keys : Arrive(t, kind, k)
                            \/ Grant(t)
                            \/ TakeCommitTs(t)
                            \/ Finish(t)
           \/ \E n \in Nodes : Tick(n)
           \/ \E compatible \in BOOLEAN : Log(compatible)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
\* All operations of a committed transaction ran under one version.
I2 == "I2" \notin broken
\* Committed transactions and DDLs have a serial order.
I3 == "I3" \notin broken
\* The operations of no transaction ran under two versions.
I5 == "I5" \notin broken
\* Every change from I to the schema at commit_ts is forward-compatible.
I8 == "I8" \notin broken
=============================================================================
