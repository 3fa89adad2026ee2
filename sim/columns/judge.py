"""The judge of histories held as columns: reads one by one, then the order, then the residue."""

from sim.columns.history import ColumnHistory
from sim.columns.models import DEFAULT
from sim.columns.verdict import Verdict


def judge(history: ColumnHistory, model: str = DEFAULT, *, strict: bool = False) -> Verdict:
    """Whether a history keeps to a model, and if not, what shows it.

    `strict` judges the graph with those anti-dependencies too that are marked `strict_only`. Raises
    `HistoryError` for columns that make no history, `ValueError` for an unknown model.
    """
    raise NotImplementedError
