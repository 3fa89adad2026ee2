"""The protocol: IEP-98 and IEP-110 as code, to be read from top to bottom.

Reading order: `strategy` (every choice that the documents make, one named function each), `ddl`,
`catalog`, `compatibility`, `rows` (what a schema is and how it changes), `raft`, `metastorage`,
`application` (the log of updates), `schema_sync` (which schema holds at a timestamp),
`schema_change` (how a change is installed and acknowledged), `messages`, `transaction`,
`enlistment`, `locks`, `storage`, `replica`, `coordinator` (how a transaction lives with all that),
`client`, and `server`, which puts a node together; the sequences of waits are in `flows`.

Symbols: Tm `message_ts`, Tu `activation_ts`, DD `delay_duration`, CSmax `max_clock_skew`, H
`safe_time_interval`, Top `op_ts`, I `initial`, C `target`. `_ts` is a hybrid timestamp on the
reference timeline, `_us` is simulated time. Between two awaits nothing else happens in the cluster.
"""
