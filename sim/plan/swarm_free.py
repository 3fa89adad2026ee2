"""Whether a drawn world is free for faults that need it for themselves."""

from ddlsim.plan.swarm_faults import has_slow_catalog, is_calm, needs_replicas
from ddlsim.plan.swarm_knobs import Knobs
from ddlsim.plan.swarm_work import is_quiet


def is_taken(knobs: Knobs) -> bool:
    """Whether the world has no faults, or is about some that others would end or disturb."""
    return is_quiet(knobs) or is_calm(knobs) or is_about_faults(knobs)


def is_about_faults(knobs: Knobs) -> bool:
    """Whether the world is about faults that another aim would end or disturb."""
    return needs_replicas(knobs) or has_slow_catalog(knobs)
