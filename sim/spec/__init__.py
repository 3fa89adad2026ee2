"""The documents' rules as small abstract machines, explored state by state: a reading of its own.

Nothing here is shared with `ddlsim.protocol`. A scope is a machine with bounds: so many nodes, so
many ticks of the clocks, so many DDLs. `exhaust` visits every state of it, and the TLA+ module
beside each machine is the same machine for TLC.
"""
