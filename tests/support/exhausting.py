"""All runs of a small world in this process."""

from ddlsim.search.exhaust import Exhaustion, Worker, World


def exhausted(world: World, depth: int = 1) -> Exhaustion:
    """What all runs with at most so many late messages came to."""
    found, worker = Exhaustion(world, depth), Worker(world)
    while found.open_level() is not None:
        for job in list(found.jobs()):
            found.take(job, worker.act([job])[0])
    return found
