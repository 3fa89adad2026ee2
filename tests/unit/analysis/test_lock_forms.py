"""Closed forms of a wait for the users of a table, beside clients that are played one by one."""

from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from ddlsim.analysis.formula import lock_forms
from ddlsim.analysis.formula.lock_forms import Users, waits, waits_without_a_queue

CLIENTS, NODES = 5, 3
HOLD, PAUSE = 10.0, 15.0
PLAYED = 3_000
Use = tuple[float, float, int]
Length = Callable[[Random], float]


def exponential(dice: Random) -> float:
    return dice.expovariate(1 / HOLD)


def uneven(dice: Random) -> float:
    """Mostly short, now and then long."""
    return dice.choice([1.0, 1.0, 1.0, 37.0])


def client(dice: Random, hold: Length, begin: float, until: float) -> list[Use]:
    """The uses of a client: begin, end, and the node, another one each time."""
    found: list[Use] = []
    now = begin
    while now < until:
        now += dice.expovariate(1 / PAUSE)
        end = now + hold(dice)
        found.append((now, end, dice.randrange(NODES)))
        now = end
    return found


def played(hold: Length, *, queue: bool) -> list[float]:
    """How long a statement waits that comes at any instant: with a queue until all uses that it
    meets have ended, without one until each node has once had none."""
    dice = Random(7)
    found = []
    for _ in range(PLAYED):
        at = 300 + dice.random() * 40
        uses = [one for _ in range(CLIENTS) for one in client(dice, hold, 0.0, at + 700)]
        if queue:
            found.append(max([0.0, *(end - at for begin, end, _ in uses if begin <= at < end)]))
        else:
            found.append(max(free(uses, node, at) for node in range(NODES)) - at)
    return found


def free(uses: list[Use], node: int, at: float) -> float:
    """The first instant from `at` on at which no client uses the table at the node."""
    for begin, end, _ in sorted(one for one in uses if one[2] == node and one[1] > at):
        if begin > at:
            break
        at = max(at, end)
    return at


def users(hold: Length) -> Users:
    dice = Random(8)
    holds = np.array([hold(dice) for _ in range(20_000)])
    mean = float(holds.mean())
    return Users(holds, mean / (mean + PAUSE), CLIENTS)


def far_off(found: np.ndarray, runs: list[float]) -> list[float]:
    """The levels at which the share of waits differs by more than chance explains."""
    levels = [0.1, 2.0, 5.0, 10.0, 20.0, 30.0, 50.0]
    spread = 4 * (0.25 / PLAYED + 0.25 / len(found)) ** 0.5
    shares = [(np.mean(found > level), np.mean(np.array(runs) > level)) for level in levels]
    return [level for level, (one, other) in zip(levels, shares, strict=True)
            if abs(one - other) > spread]  # fmt: skip


DICE = 3


@pytest.mark.parametrize("hold", [exponential, uneven])
def test_with_a_queue_the_wait_is_for_those_that_are_there(hold: Length) -> None:
    found = waits(users(hold), np.random.default_rng(DICE), 20_000)
    assert far_off(found, played(hold, queue=True)) == []


def test_without_a_queue_those_that_come_meanwhile_are_waited_for_on_each_node() -> None:
    runs = played(exponential, queue=False)
    known = users(exponential)
    assert (
        far_off(waits_without_a_queue(known, NODES, np.random.default_rng(DICE), 20_000), runs)
        == []
    )
    assert far_off(waits(known, np.random.default_rng(DICE), 20_000), runs) != []


def test_a_whole_use_in_place_of_what_is_left_of_it_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def whole(holds: np.ndarray, at: np.ndarray) -> np.ndarray:
        return np.searchsorted(np.sort(holds), at, side="right") / len(holds)

    monkeypatch.setattr(lock_forms, "left_within", whole)
    found = waits(users(uneven), np.random.default_rng(DICE), 20_000)
    assert far_off(found, played(uneven, queue=True)) != []


def test_waits_that_do_not_end_within_the_limit_are_left_out() -> None:
    found = waits(users(exponential), np.random.default_rng(DICE), 2_000, 12.0)
    assert float(found.max()) <= 12.0


def test_without_users_there_is_no_wait() -> None:
    unused = Users(np.array([10.0]), 0.0, CLIENTS)
    dice = np.random.default_rng(DICE)
    assert float(waits(unused, dice, 100).max()) == 0.0
    assert float(waits_without_a_queue(unused, NODES, dice, 100).max()) == 0.0
