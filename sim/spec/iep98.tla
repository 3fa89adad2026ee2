------------------------------- MODULE iep98 -------------------------------
(* Schema synchronization of IEP-98, as ddlsim's scope `iep98` explores it.  *)
(*                                                                           *)
(* Nodes have clocks that count ticks and never differ by more than `skew`;  *)
(* one node leads the meta storage. It logs updates, and each node applies   *)
(* them in order, whenever. A node resolves the schema at its clock's time.  *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    nodes,      \* nodes, one of which leads the meta storage
    time,       \* the last tick of every clock
    ddls,       \* DDLs that may be logged
    dd,         \* DD, the delay duration
    skew,       \* by how many ticks two clocks differ at most
    csmax,      \* CSmax, as the rules have it
    changes,    \* times that another node becomes leader
    clients,    \* 1: clients wait for acknowledgements
    judged,     \* the invariants that are judged
    \* the rules, each by the name of a choice
    activation, wait, lookup, stamps, safe_time, take_over, acknowledgement

VARIABLES
    now,            \* by node: its clock
    safe,           \* by node: its safe time
    applied,        \* by node: how many updates it has applied
    log,            \* the updates: Tm and Tu of each
    resolved,       \* by Top: the version that was resolved, or None
    acknowledged,   \* how many DDLs have been acknowledged
    leader,         \* the node that leads the meta storage
    changed,        \* how often that was another one
    broken          \* the invariants that the last action broke

vars == <<now, safe, applied, log, resolved, acknowledged, leader, changed, broken>>

None == -1
Nodes == 1..nodes
Max(S) == CHOOSE x \in S : \A y \in S : x >= y
Min(S) == CHOOSE x \in S : \A y \in S : x <= y
Clocks == {now[n] : n \in Nodes}
\* The last tick that a clock may show now.
Ahead == Min({time, Min(Clocks) + skew})

\* How many updates of the whole log have activated at t.
TrueVersion(t) == Cardinality({i \in 1..Len(log) : log[i].tu <= t})

-----------------------------------------------------------------------------
\* The rules.

Tu(tm) == CASE activation = "dd_after_message"           -> tm + dd
            [] activation = "with_message"               -> tm
            [] activation = "dd_before_message"          -> tm - dd
            [] activation = "less_than_dd_after_message" -> tm + Max({dd - 1, 0})

\* The safe time for which a resolution at t waits.
Complete(t) == CASE wait = "top_less_dd"            -> t - dd
                 [] wait = "top"                    -> t
                 [] wait = "top_plus_csmax"         -> t + csmax
                 [] wait = "top_less_dd_plus_csmax" -> t - dd + csmax
                 [] wait = "top_less_dd_less_one"   -> t - dd - 1
                 [] wait = "top_less_twice_dd"      -> t - 2 * dd
                 [] wait = "never"                  -> 0

Until(t) == CASE lookup = "at_top"         -> t
              [] lookup = "at_top_less_dd" -> t - dd
              [] lookup = "before_top"     -> t - 1
              [] OTHER                     -> t

Version(n, t) == IF lookup = "newest_applied" THEN applied[n]
                 ELSE Cardinality({i \in 1..applied[n] : log[i].tu <= Until(t)})

MayAcknowledge(i) ==
    CASE acknowledgement = "csmax_after_activation" -> Max(Clocks) >= log[i].tu + csmax
      [] acknowledgement = "at_activation"          -> Max(Clocks) >= log[i].tu
      [] acknowledgement = "at_once"                -> TRUE
      [] acknowledgement = "all_nodes"              -> \A n \in Nodes : /\ now[n] >= log[i].tu
                                                                        /\ applied[n] >= i

-----------------------------------------------------------------------------
\* The actions.

Init == /\ now = [n \in Nodes |-> 0]
        /\ safe = [n \in Nodes |-> 0]
        /\ applied = [n \in Nodes |-> 0]
        /\ log = <<>>
        /\ resolved = [t \in 0..time |-> None]
        /\ acknowledged = 0
        /\ leader = 1
        /\ changed = 0
        /\ broken = {}

\* A clock goes on; the leader's is a safe time as soon as it shows it.
Tick(n) ==
    /\ now[n] < Ahead
    /\ now' = [now EXCEPT ![n] = @ + 1]
    /\ safe' = IF n = leader THEN [safe EXCEPT ![n] = Max({@, now[n] + 1})] ELSE safe
    /\ UNCHANGED <<applied, log, resolved, acknowledged, leader, changed, broken>>

\* The leader logs an update, and has it applied. It is late where a time has
\* been resolved from which on it counts.
Log ==
    LET tm == IF stamps = "may_tie" THEN now[leader] ELSE now[leader] + 1
        late == \E t \in 0..time : t >= Tu(tm) /\ resolved[t] # None
    IN /\ Len(log) < ddls
       /\ stamps # "may_tie" => now[leader] < Ahead
       /\ now' = [now EXCEPT ![leader] = tm]
       /\ safe' = [safe EXCEPT ![leader] = Max({@, tm})]
       /\ log' = Append(log, [tm |-> tm, tu |-> Tu(tm)])
       /\ applied' = [applied EXCEPT ![leader] = Len(log) + 1]
       /\ broken' = (IF late THEN {"I1"} ELSE {}) \cap judged
       /\ UNCHANGED <<resolved, acknowledged, leader, changed>>

\* A node applies the next update.
Apply(n) ==
    /\ n # leader
    /\ applied[n] < Len(log)
    /\ applied' = [applied EXCEPT ![n] = @ + 1]
    /\ safe' = [safe EXCEPT ![n] = Max({@, log[applied[n] + 1].tm})]
    /\ UNCHANGED <<now, log, resolved, acknowledged, leader, changed, broken>>

\* A node takes the leader's safe time.
Advance(n) ==
    /\ n # leader
    /\ safe[n] < safe[leader]
    /\ safe_time # "before_updates" => applied[n] = Len(log)
    /\ safe' = [safe EXCEPT ![n] = safe[leader]]
    /\ UNCHANGED <<now, applied, log, resolved, acknowledged, leader, changed, broken>>

\* Another node leads: it has the whole log, and the safe times in it.
Lead(n) ==
    /\ n # leader
    /\ changed < changes
    /\ now' = IF take_over = "merges" THEN [now EXCEPT ![n] = Max({@, safe[leader]})] ELSE now
    /\ safe' = [safe EXCEPT ![n] = safe[leader]]
    /\ applied' = [applied EXCEPT ![n] = Len(log)]
    /\ leader' = n
    /\ changed' = changed + 1
    /\ UNCHANGED <<log, resolved, acknowledged, broken>>

\* A node resolves the schema at its clock's time.
Resolve(n) ==
    LET t == now[n]
        v == Version(n, t)
        wrong == "I1" \in judged /\ v # TrueVersion(t)
        unseen == "I4" \in judged /\ v < acknowledged
    IN /\ safe[n] >= Complete(t)
       /\ ~(resolved[t] = v /\ ~wrong /\ ~unseen)
       /\ resolved' = [resolved EXCEPT ![t] = v]
       /\ broken' = (IF wrong THEN {"I1"} ELSE {}) \cup (IF unseen THEN {"I4"} ELSE {})
       /\ UNCHANGED <<now, safe, applied, log, acknowledged, leader, changed>>

Acknowledge ==
    /\ clients = 1
    /\ acknowledged < Len(log)
    /\ MayAcknowledge(acknowledged + 1)
    /\ acknowledged' = acknowledged + 1
    /\ UNCHANGED <<now, safe, applied, log, resolved, leader, changed, broken>>

Next == /\ broken = {}
        /\ \/ \E n \in Nodes : Tick(n) \/ Apply(n) \/ Advance(n) \/ Lead(n) \/ Resolve(n)
           \/ Acknowledge
           \/ Log

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
\* The Atomicity Property: a resolution returns the version that the whole log
\* says, what is logged later included.
I1 == "I1" \notin broken
\* Once a DDL is acknowledged, every node resolves it.
I4 == "I4" \notin broken
=============================================================================
