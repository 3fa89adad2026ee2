"""Makes the shipped sample of measurements: `python scenarios/measurements/make.py`.

Five nodes in three rooms. A delay is a lognormal body (median 4 ms within a room, 9 ms between
rooms), one in fifty with a hiccup of a collector or a switch on top, exponential with a mean of
45 ms. A clock is kept by NTP: its offset wanders around one of its own, within a few milliseconds.
Both files are a function of the seed below; none of it was measured on real machines.
"""

from itertools import permutations
from pathlib import Path

import numpy as np

SEED = 98_110
NODES = ("n1", "n2", "n3", "n4", "n5")
ROOM = {"n1": 0, "n2": 0, "n3": 1, "n4": 1, "n5": 2}
PER_LINK, PER_NODE = 200, 240
NEAR_MS, FAR_MS, SIGMA = 4.0, 9.0, 0.35
HICCUPS, HICCUP_MS = 0.02, 45.0
CLOCKS_MS = {"n1": 0.4, "n2": -1.1, "n3": 2.0, "n4": -2.6, "n5": 3.4}
WANDER_MS, WANDER_BACK = 0.9, 0.98


def delays() -> list[str]:
    """`from,to,time_s,delay_ms`: every link in turn, ascending in time."""
    lines = ["from,to,time_s,delay_ms"]
    for number, (sender, to) in enumerate(permutations(NODES, 2)):
        dice = np.random.default_rng([SEED, number])
        middle = NEAR_MS if ROOM[sender] == ROOM[to] else FAR_MS
        taken = middle * np.exp(SIGMA * dice.standard_normal(PER_LINK))
        late = dice.random(PER_LINK) < HICCUPS
        taken += np.where(late, dice.exponential(HICCUP_MS, PER_LINK), 0)
        seconds = np.cumsum(dice.uniform(5, 40, PER_LINK))
        lines += [
            f"{sender},{to},{at:.1f},{delay:.3f}" for at, delay in zip(seconds, taken, strict=True)
        ]
    return lines


def offsets() -> list[str]:
    """`node,time_s,offset_ms`: every node once a minute, from true time."""
    lines = ["node,time_s,offset_ms"]
    for number, (node, middle) in enumerate(CLOCKS_MS.items()):
        dice = np.random.default_rng([SEED, 1_000 + number])
        offset = 0.0
        for minute in range(PER_NODE):
            offset = WANDER_BACK * offset + WANDER_MS * (1 - WANDER_BACK**2) ** 0.5 * float(
                dice.standard_normal()
            )
            lines.append(f"{node},{60 * minute},{middle + offset:.3f}")
    return lines


if __name__ == "__main__":
    here = Path(__file__).parent
    for name, lines in (("delays_ms.csv", delays()), ("offsets_ms.csv", offsets())):
        (here / name).write_text("\n".join(lines) + "\n", "utf-8")
