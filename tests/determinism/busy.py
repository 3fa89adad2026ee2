"""A busy world: every workload, faults of most kinds, all that can be decided by dice.

Run as a module it prints the events of one run, one a line, and what the run tells of itself.
"""

import sys
from typing import Any

from msgspec.json import encode
from msgspec.structs import replace

from ddlsim.cluster.run import run
from ddlsim.history.history import History
from ddlsim.plan.plan import plan
from ddlsim.plan.records import Plan
from ddlsim.scenario.scenario import read

BUSY = '''
title = "Everything at once"
[protocol]
preset = "ignite3_tests"
delay_duration_ms = 30
resend_ms = 40
operation_timeout_ms = 200
[protocol.nodes.n3]
delay_duration_ms = 10
[cluster]
nodes = 4
voters = 3
partitions = 2
[clocks]
max_skew_ms = { distribution = "uniform", low = 0, high = 9 }
drift_ppm = { distribution = "uniform", low = -200, high = 200 }
[network]
latency_ms = { distribution = "lognormal", median = 1, p99 = 9 }
client_latency_ms = { distribution = "exponential", min = 0.1, mean = 0.4 }
duplication = 0.02
[run]
load_ms = 1_500
[schema]
sql = """
CREATE TABLE t (id INT PRIMARY KEY, v INT, s VARCHAR(20));
CREATE TABLE u (id INT PRIMARY KEY, v INT)"""
[[migration]]
at_ms = 250
sql = "ALTER TABLE t ADD COLUMN w INT DEFAULT 5"
[[migration]]
at_ms = 900
sql = "ALTER TABLE t DROP COLUMN v"
[[workload]]
name = "mixed"
clients = 4
operations = 400
transaction_tables = [1, 2]
[[workload]]
name = "ddl_storm"
clients = 2
operations = 3
[[workload]]
name = "read_own_ddl"
clients = 1
operations = 2
[[faults]]
name = "message_loss"
probability = 0.03
from_ms = 100
for_ms = 500
[[faults]]
name = "learner_lag"
node = "any follower"
from_ms = 300
for_ms = 200
[[faults]]
name = "clock_step"
node = "any node"
by_ms = 6
from_ms = 400
[[faults]]
name = "pause"
node = "any node"
from_ms = { distribution = "uniform", low = 100, high = 700 }
for_ms = 60
'''


def busy(seed: int, **changes: Any) -> Plan:
    """The plan of a seed; its fields can be set by name."""
    return replace(plan(read(BUSY, "busy.toml"), seed), **changes)


def lines_of(history: History) -> list[str]:
    """Every event, and what the run tells of itself."""
    lines = [encode(event).decode() for event in history.events]
    lines += [f"{name}: {count}" for name, count in sorted(history.probes.items())]
    lines.append(f"{history.executed_events} events until {history.end_us} us")
    lines.append(history.fingerprint())
    return lines


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines_of(run(busy(int(sys.argv[1]))))))
