"""External histories: reading and judging them, as ratios within one process.

The unit is what one needs at the least: orjson reading the same operations as JSON lines. Ratios
are printed beside their aims.
"""

import gc
import time
from collections.abc import Callable

import orjson
import pytest

from ddlsim.foreign import jepsen
from ddlsim.foreign.readers import edn
from ddlsim.graph.models import DEFAULT
from tests.bench.figures import show
from tests.support import jepsen_histories as synthetic
from tests.support.jepsen_histories import Shape, history
from tests.support.jepsen_plants import stretched

pytestmark = pytest.mark.bench

TRANSACTIONS = 20_000
ROUNDS = 3


def least(work: Callable[[], object]) -> float:
    """The least CPU time of some rounds, in seconds."""
    times = []
    for _ in range(ROUNDS):
        gc.collect()
        gc.disable()
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
        gc.enable()
    return min(times)


def test_a_list_history_is_read_and_judged_at_the_price_of_a_few_plain_readings() -> None:
    made = history(Shape(TRANSACTIONS, keys=10), seed=1)
    text, plain = synthetic.edn(made).encode(), synthetic.json_lines(made).encode()
    bad = synthetic.edn(stretched(made)).encode()
    unit = least(lambda: [orjson.loads(line) for line in plain.splitlines()])
    entries = least(lambda: edn.read(text))
    read = least(lambda: jepsen.parse(text))
    clean, broken = jepsen.parse(text), jepsen.parse(bad)
    valid = least(lambda: jepsen.judge(clean, DEFAULT))
    invalid = least(lambda: jepsen.judge(broken, DEFAULT))
    assert jepsen.judge(clean, DEFAULT).verdict.valid is True
    assert jepsen.judge(broken, DEFAULT).verdict.valid is False
    whole, whole_bad = read + valid, read + invalid
    print(f"\nreading JSON lines (the unit)   {unit:.3f} s")
    print(f"lines of EDN apart              {entries / unit:.1f}")
    print(f"EDN to transactions             {read / unit:.1f} ({TRANSACTIONS / read:,.0f} txn/s)")
    print(f"judged strict-serializable      {valid / unit:.1f}")
    print(f"one component of nearly all     {invalid / unit:.1f}")
    print(f"read and judged                 {whole / unit:.1f} ({TRANSACTIONS / whole:,.0f} txn/s)")
    show("EDN to transactions / the unit", read / unit, most=6)
    show("read and judged / the unit", whole / unit, most=9)
    show("one big component / a valid history", whole_bad / whole, most=3)


def test_a_hundred_thousand_list_transactions_are_judged_in_memory() -> None:
    """The aim is 0.27 s where it takes 0.18 s, which is 0.28 times the unit."""
    made = history(Shape(100_000, keys=10), seed=1)
    plain = synthetic.json_lines(made).encode()
    unit = least(lambda: [orjson.loads(line) for line in plain.splitlines()])
    clean = jepsen.parse(plain)
    assert jepsen.judge(clean, DEFAULT).verdict.valid is True
    judged = least(lambda: jepsen.judge(clean, DEFAULT))
    print(f"\n100,000 list transactions judged in {judged:.2f} s, the unit {unit:.2f} s")
    show("judged in memory / the unit", judged / unit, most=0.42)


def test_lines_of_unlike_looks_are_what_reading_them_together_saves() -> None:
    made = history(Shape(TRANSACTIONS), seed=1)
    fast = synthetic.edn(made)
    slow = "".join(
        line.replace(":process", f':node "n{at}", :process')
        for at, line in enumerate(fast.splitlines(keepends=True))
    )
    assert len(jepsen.parse(fast.encode())) == len(jepsen.parse(slow.encode()))
    ratio = least(lambda: jepsen.parse(slow.encode())) / least(lambda: jepsen.parse(fast.encode()))
    show("one by one / together", ratio, least=3)
