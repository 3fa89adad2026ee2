"""The protocol: IEP-98 and IEP-110 as code, to be read from top to bottom.

Reading order: `strategy` (every choice that the documents make, typed), `schema` (what a schema is
and how it changes: `catalog`, `ddl`, `compatibility`, `rows`), `raft` and `replication` (a log and
its state machine), `metastorage` (the log of updates, and in `schema_sync` which schema holds at a
timestamp), `schema_change` (how a change is installed and acknowledged), `partition` (replicas of
rows), `transaction` (from `coordinator` to `replica`, `commit_check`, `participant`), `design` (the
rules and the sequences of waits that a strategy chooses from), and `server`, which puts a node
together. One operation is followed through five files: `client`, `coordinator`, `replica` and
`execution` of `transaction`, and `partition` (ARCHITECTURE.md, One operation).

Symbols: Tm `message_ts`, Tu `activation_ts`, DD `delay_duration`, CSmax `max_clock_skew`, H
`safe_time_interval`, Top `op_ts`, I `initial`, C `target`. `_ts` is a hybrid timestamp on the
reference timeline, `_us` is simulated time. Between two awaits nothing else happens in the cluster.
"""
