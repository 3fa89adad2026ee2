"""Changes of a NOT NULL column without default, which is added in two steps [110.later.2].

While it is *pending*, every write must give it a value, and older rows need not have one;
*confirmed*, every row has one. A pending column that cannot be confirmed is dropped.
"""

from ddlsim.model.records import Tagged
from ddlsim.model.schema import Column


class ColumnPending(Tagged, frozen=True, tag="column-pending"):
    """A mandatory column was added, and whether the table was empty is not known yet."""

    column: Column


class ColumnConfirmed(Tagged, frozen=True, tag="column-confirmed"):
    """The table was empty when the column became pending: no row is without a value."""

    column: Column


PendingChange = ColumnPending | ColumnConfirmed
"""What happens to a column that is added in two steps."""
