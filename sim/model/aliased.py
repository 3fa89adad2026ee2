"""A rename that leaves the old name in place for a while, as a simple change of `sim.model.ddl`."""

from sim.model.records import Tagged


class ObjectAliased(Tagged, frozen=True, tag="object-aliased"):
    """Another name; the old one stays, as the object `alias_id`, until that ends [110.later.3]."""

    old_name: str
    new_name: str
    alias_id: int
