"""What the closed forms of a key-value store need of a cell of a sweep: rates, spans, settings."""

from ddlsim.analysis.formula.by_formula import Forms, worlds
from ddlsim.analysis.plot_abort_rate import changes_per_ms, length_ms, load_ms
from ddlsim.analysis.sweep.cells import Cell, Cells, CellsError
from ddlsim.fdb.settings import FdbSettings
from ddlsim.units import US_PER_MS

PLANE = "fdb"


class Rates:
    """Measured rates per ms and spans in ms of the cells of a sweep, by their scenarios.

    Raises `CellsError` for scenarios that cannot be read again, or are of another plane.
    """

    def __init__(self, cells: Cells) -> None:
        self.worlds = worlds(cells)
        for cell in cells.cells:
            world = self.worlds.get(cell.number)
            if world is None:
                changes_per_ms(cell, world)
            elif world.scenario.table.cluster.plane != PLANE:
                raise CellsError(f"the figure is of plane {PLANE}; {cell.scenario} is of another")

    def world(self, cell: Cell) -> Forms:
        """The scenario of a cell."""
        return self.worlds[cell.number]

    def changes(self, cell: Cell) -> float:
        """Changes of the schema per ms of the load."""
        return changes_per_ms(cell, self.worlds[cell.number])

    def of_table(self, cell: Cell) -> float:
        """Changes of one table per ms, where all tables have as many."""
        tables = self.world(cell).plan.schema_sql.count("CREATE TABLE")
        return self.changes(cell) / max(tables, 1)

    def setting(self, cell: Cell, name: str) -> float:
        """A number of the store, as the scenario sets it."""
        store = self.world(cell).plan.store
        assert store is not None, "these are scenarios of the store"
        return float(getattr(FdbSettings(**store.settings), name))

    def span(self, cell: Cell) -> float:
        """cv - rv, the mean of committed transactions."""
        return length_ms(cell)

    def read(self, cell: Cell) -> float:
        """What it takes to read a version and then the head: how old an answer is when it comes."""
        way_ms = float(self.world(cell).delays.mean())
        return 6 * way_ms + self.setting(cell, "grv_batch_us") / US_PER_MS

    def begun(self, cell: Cell) -> float:
        """Transactions begun per ms of the load."""
        attempts = sum(row["attempts"] for row in cell.rows)
        return float(attempts / max(load_ms(cell, self.world(cell)), 1 / US_PER_MS))
