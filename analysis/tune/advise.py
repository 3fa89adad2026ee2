"""The advice: H by formula, the least DD by runs, and its costs and risks.

1. *H*: the longest idle interval with which, by formula, some DD meets every goal; a shorter one
   allows a smaller DD and costs messages.
2. *DD*: the least that meets the goals of waits in simulation (analysis/tune/search.py), and the
   least that meets them surely, with the whole interval over seeds (analysis/tune/judge.py). The
   margin above the first is the distance of the second and the spread by formula of resampled
   measurements; the two are independent, so their squares add.
3. *Proof and price*: the recommended setting, some near it, the present one and those of the user
   are run with DDL, for every column of the trade-off; the recommended one also with clocks 1, 1.5
   and 2 times CSmax apart. The closed form is compared with each run.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, hypot
from typing import Final

import numpy as np

from ddlsim.analysis.formula import closed_forms as forms
from ddlsim.analysis.formula.wait_model import COARSE
from ddlsim.analysis.stats import intervals
from ddlsim.analysis.sweep.rows import Cell
from ddlsim.analysis.tune.cells import Cells, Setting
from ddlsim.analysis.tune.goals import RATE, Goal, HopelessError, TuneError
from ddlsim.analysis.tune.judge import Assessment, Judge
from ddlsim.analysis.tune.request import Request
from ddlsim.analysis.tune.runs import Figures, Runs
from ddlsim.analysis.tune.search import border, least

RESAMPLES: Final = 60
FACTORS: Final = (1.0, 1.5, 2.0)
BESIDE: Final = (0.25, 0.6, 0.85, 1.25)
"""Multiples of the recommended DD that are run too, for the shape of the front."""
DICE: Final = 98_110


@dataclass(frozen=True)
class Price:
    """The runs of a setting: its look-ups, and its statements under transactions."""

    looks: Figures
    statements: Figures

    def of(self, goal: Goal) -> Figures:
        """The runs that measure a goal."""
        return self.statements if goal.metric == RATE or goal.of == "ddl_latency" else self.looks


@dataclass
class Advice:
    """The result; `looks` are all cells of waits, `prices` the settings with every figure."""

    request: Request
    judge: Judge
    h: int
    needed: int
    middle: float
    sure: int | None
    excluded: int | None
    over_seeds: tuple[float, float]
    over_sample: tuple[float, float] | None
    recommended: Setting
    h_most: tuple[float, float, float]
    search_runs: int = 0
    runs: int = 0
    looks: dict[Setting, Figures] = field(default_factory=dict)
    prices: dict[Setting, Price] = field(default_factory=dict)
    skewed: dict[float, Figures] = field(default_factory=dict)
    calm: Figures | None = None
    cells: tuple[Cell, ...] = ()

    @property
    def interval(self) -> tuple[int, int]:
        """The ends between which the least DD that meets the goals lies, over seeds and samples.

        It excludes every DD that misses a goal with its whole interval.
        """
        step = self.request.step
        low = int(max(min(self.over_seeds[0], self.needed), 0) // step * step)
        if self.excluded is not None:
            low = max(low, self.excluded + step)
        sure = self.needed if self.sure is None else self.sure
        more = max(self.over_seeds[1] - self.middle, sure - self.needed)
        if self.over_sample is not None:
            more = hypot(more, max(self.over_sample[1], 0.0))
        high = ceil(round((self.middle + more) / step, 6)) * step
        return min(low, self.needed), max(high, sure)

    def judged(self, goal: Goal, setting: Setting) -> Assessment:
        """The assessment of a goal under a priced setting."""
        return self.judge.of(goal, setting, self.prices[setting].of(goal))

    @property
    def tried(self) -> tuple[Setting, ...]:
        """The settings that the user wants priced."""
        return tuple(replace(self.recommended, **dict(wish)) for wish in self.request.wishes)

    @property
    def dd_alone(self) -> Setting:
        """The recommended DD and H with the CSmax of today."""
        return replace(self.recommended, cs_max=self.request.present.cs_max)


class Advisor:
    """Finds the advice from runs."""

    def __init__(self, request: Request, runs: Runs) -> None:
        self.request = request
        self.runs = runs
        self._cells = self._no_cells()
        self._looks: dict[Setting, Figures] = {}
        self._judge = Judge(request)

    def advise(self) -> Advice:
        """Return the advice; raises `TuneError` with the unmet goals and the nearest setting."""
        request = self.request
        self._no_cells().statements(request.present)  # may be refused, and before the first run
        candidates = self._candidates()
        if not request.uses_dd:
            return self._without_dd(request.present.h)
        refused: TuneError | None = None
        for h in candidates:
            try:
                advice = self._search(h)
                self._prove(advice)
            except HopelessError:
                raise
            except TuneError as error:
                refused = refused or error
                continue
            return advice
        assert refused is not None, "there is always an interval to try"
        raise refused

    def _no_cells(self) -> Cells:
        asked = self.request
        return Cells(asked.world, asked.texts, asked.strategy, asked.load, asked.loads)

    # --- H ----------------------------------------------------------------------------------------

    def _candidates(self) -> list[int]:
        """Idle intervals that may meet the goals by formula, the longest first."""
        request, grid = self.request, COARSE
        most = min((goal.limit for goal in request.latencies), default=np.inf)
        doubtful: list[int] = []
        nearest: tuple[float, int, float] | None = None
        for h in request.intervals():
            low, high = request.needed(request.world.wait(grid, h, request.mu))
            if not request.uses_dd:
                return [h]
            latency = [request.ddl_delay(ceil(dd)) + request.overhead_ms for dd in (low, high)]
            if latency[1] <= most:
                return [h, *(each for each in request.intervals() if each < h)][: 1 + 2]
            if latency[0] <= most:
                doubtful.append(h)
            if nearest is None or latency[0] < nearest[0]:
                nearest = (latency[0], h, low)
        if doubtful:
            return doubtful
        assert nearest is not None
        raise self._impossible(*nearest)

    def _impossible(self, latency: float, h: int, dd: float) -> TuneError:
        goals = " and ".join(goal.text for goal in (*self.request.waits, *self.request.latencies))
        step = self.request.step
        near = ceil(dd / step) * step
        return TuneError(
            f"no DD satisfies {goals} with CSmax {self.request.cs_max} ms; the nearest is "
            f"DD {near} ms with H {h} ms: it meets the wait, and a DDL statement takes "
            f"about {latency:.0f} ms"
        )

    # --- DD ---------------------------------------------------------------------------------------

    def _figures(self, settings: Sequence[Setting]) -> list[Figures]:
        """The waits under these settings; each setting is run once."""
        new = [one for one in dict.fromkeys(settings) if one not in self._looks]
        found = self._run(new, self._cells.looks)
        self._looks.update(zip(new, found, strict=True))
        return [self._looks[one] for one in settings]

    def _run(
        self, settings: Sequence[Setting], cell_of: Callable[[Setting], Cell]
    ) -> list[Figures]:
        """The figures of the cells of these settings.

        Raises `HopelessError` where the log commits nothing, or a run is stuck: what never ends is
        in no figure of waits, so such a setting would look good.
        """
        found = self.runs.run([cell_of(one) for one in settings]) if settings else []
        for setting, figures in zip(settings, found, strict=True):
            idle = [
                row for row in figures.rows if not row["meta_commands"] or row["outcome"] == "stuck"
            ]
            if idle:
                raise HopelessError(
                    f"in {len(idle)} of {len(figures.rows)} runs with DD {setting.dd} ms the meta "
                    "storage commits nothing, or is stuck: with delays as long as these the "
                    "cluster does not work; is their unit right?"
                )
        return found

    def _search(self, h: int) -> Advice:
        """Search the least DD with this idle interval."""
        request = self.request
        before = self.runs.count
        guess = request.needed(request.world.wait(COARSE, h, request.mu))

        def meets(values: Sequence[int]) -> list[bool]:
            found = self._figures([Setting(dd, h, request.cs_max) for dd in values])
            return [all(each.point(goal) <= goal.limit for goal in request.waits) for each in found]

        result = least(meets, *guess, request.step)
        if result.least is None:
            goals = " and ".join(goal.text for goal in request.waits)
            last = self._figures([Setting(max(result.tried), h, request.cs_max)])[0]
            told = ", ".join(f"{goal.metric} {last.point(goal):.1f} ms" for goal in request.waits)
            raise TuneError(
                f"no DD satisfies {goals}; the nearest is DD {max(result.tried)} ms, with {told}"
            )
        tried = [Setting(dd, h, request.cs_max) for dd in result.tried]
        found = self._figures(tried)
        borders = [
            border(result.tried, np.stack([each.resampled(goal) for each in found]), goal.limit)
            for goal in request.waits
        ]
        tail = intervals.resampling_tail(len(request.seeds))
        ends = np.quantile(np.max(borders, axis=0), [tail, 1 - tail])
        points = [np.array([[each.point(goal)] for each in found]) for goal in request.waits]
        middle = max(
            float(border(result.tried, own, goal.limit)[0])
            for own, goal in zip(points, request.waits, strict=True)
        )
        advice = Advice(
            request=request,
            judge=self._judge,
            h=h,
            needed=result.least,
            middle=min(middle, result.least),
            sure=self._surely(h, result.least, float(ends[1])),
            excluded=max((one.dd for one in tried if self._misses(one)), default=None),
            over_seeds=(float(ends[0]), float(ends[1])),
            over_sample=self._over_sample(h),
            recommended=Setting(0, h, request.cs_max),
            h_most=(0.0, 0.0, 0.0),
        )
        advice.search_runs = self.runs.count - before
        advice.recommended = replace(advice.recommended, dd=advice.interval[1])
        advice.h_most = self._h_most(advice)
        return advice

    def _misses(self, setting: Setting) -> bool:
        """Whether some goal of waits is missed by its whole interval."""
        figures = self._figures([setting])[0]
        return any(self._judge.of(g, setting, figures).hopeless for g in self.request.waits)

    def _surely(self, h: int, needed: int, about: float) -> int | None:
        """The least DD from `needed` up that meets the goals of waits with the whole interval.

        None where no DD within reach does; more runs may then show one.
        """
        request = self.request
        most = 2 * max(needed, about) + 20 * request.step

        def meets(values: Sequence[int]) -> list[bool]:
            settings = [Setting(dd, h, request.cs_max) for dd in values if dd <= most]
            found = dict(zip(settings, self._figures(settings), strict=True))
            sure = {
                one.dd: all(self._judge.of(goal, one, own).sure for goal in request.waits)
                for one, own in found.items()
            }
            return [sure.get(dd, True) and dd >= needed for dd in values]

        found = least(meets, needed - request.step, max(about, needed), request.step).least
        return found if found is not None and found <= most else None

    def _over_sample(self, h: int) -> tuple[float, float] | None:
        """The interval by which DD moves when the measurements are resampled; None without any."""
        request, grid = self.request, COARSE
        if request.world.delays is None:
            return None
        middle = self._middle(h)
        dice = np.random.default_rng(DICE)
        moved = []
        for _ in range(RESAMPLES):
            ends = request.needed(request.world.wait(grid, h, request.mu, dice))
            moved.append(sum(ends) / 2 - middle)
        low, high = np.quantile(moved, [0.025, 0.975])
        return float(low), float(high)

    def _middle(self, h: float) -> float:
        return sum(self.request.needed(self.request.world.wait(COARSE, h, self.request.mu))) / 2

    def _h_most(self, advice: Advice) -> tuple[float, float, float]:
        """The longest H that the recommended DD allows: at the least DD and both ends.

        W = max(0, R + G + skew - DD) with R up to H: a ms of DD more allows about a ms of H more.
        """
        low, high = advice.interval
        dd = advice.recommended.dd
        return tuple(  # type: ignore[return-value]  # three of them
            max(round(advice.h + dd - need, 1), 0.0) for need in (advice.needed, high, low)
        )

    def _without_dd(self, h: int) -> Advice:
        """The advice for a design whose waits do not depend on DD."""
        request = self.request
        setting = Setting(0, h, request.cs_max)
        figures = self._figures([setting])[0]
        for goal in request.waits:
            if figures.point(goal) > goal.limit:
                raise TuneError(
                    f"no DD satisfies {goal.text}: {request.strategy} does not use DD, its "
                    f"{goal.metric} is {figures.point(goal):.1f} ms; take a design that does"
                )
        advice = Advice(request, self._judge, h, 0, 0.0, 0, None, (0.0, 0.0), None, setting,
                        (float(h), float(h), float(h)))  # fmt: skip
        self._prove(advice)
        return advice

    # --- proof and price --------------------------------------------------------------------------

    def _price(self, settings: Sequence[Setting], advice: Advice) -> None:
        """Run those of the settings that have no price yet, all together."""
        new = [one for one in dict.fromkeys(settings) if one not in advice.prices]
        looks = self._figures(new)
        found = self._run(new, self._cells.statements)
        for setting, first, second in zip(new, looks, found, strict=True):
            advice.prices[setting] = Price(first, second)

    def _prove(self, advice: Advice) -> None:
        """Run the recommended, the present and the user's settings, with DDL and with skew."""
        request, best = self.request, advice.recommended
        step = request.step
        around = [] if not request.uses_dd else [
            replace(best, dd=round(best.dd * part / step) * step) for part in BESIDE
        ]  # fmt: skip
        self._price([best], advice)
        for goal in request.latencies:
            self._check_latency(goal, advice)
        if request.aborts is not None:
            self._check_aborts(request.aborts, advice)
        self._price([*around, advice.dd_alone, request.present, *advice.tried], advice)
        cells = [self._cells.statements(best, calm=True)]
        if len(request.world.nodes) > 1:
            cells += [self._cells.skewed(best, factor) for factor in FACTORS]
        advice.calm, *skewed = self.runs.run(cells)
        advice.skewed = dict(zip(FACTORS, skewed, strict=False))
        advice.looks = dict(self._looks)
        advice.runs = self.runs.count
        advice.cells = tuple(self._cells.all)

    def _check_latency(self, goal: Goal, advice: Advice) -> None:
        taken = advice.prices[advice.recommended].statements.point(goal)
        if taken > goal.limit:
            waits = " and ".join(each.text for each in self.request.waits)
            raise TuneError(
                f"no DD satisfies {waits} and {goal.text} with CSmax {self.request.cs_max} ms; the "
                f"nearest is DD {advice.recommended.dd} ms with H {advice.h} ms: it meets the "
                f"wait, and {goal.metric} is {taken:.0f} ms"
            )

    def _check_aborts(self, goal: Goal, advice: Advice) -> None:
        best = advice.recommended
        rate = advice.judged(goal, best).point
        if rate > goal.limit:
            most = forms.at_rate(rate, self.request.ddl_rate, 1.0)  # per statement a second
            allowed = -np.log1p(-goal.limit) / max(-np.log1p(-float(most)), 1e-300)
            raise HopelessError(
                f"no DD satisfies {goal.text}: a larger DD than {best.dd} ms does not lower it, "
                f"hardly a look-up waits there; with {self.request.ddl_rate:g} statements/s on a "
                f"table the rate is {rate:.2g}; the nearest is at most {allowed:.2g} statements/s, "
                "or shorter transactions"
            )
