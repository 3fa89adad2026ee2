"""A rename that keeps the old name for a while, as a simple change of `ddlsim.model.ddl`."""

from ddlsim.model.records import Tagged


class ObjectAliased(Tagged, frozen=True, tag="object-aliased"):
    """Another name; the old one stays, as the object `alias_id`, until that ends [110.later.3]."""

    old_name: str
    new_name: str
    alias_id: int
