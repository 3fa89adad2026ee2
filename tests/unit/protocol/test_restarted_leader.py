"""A leader of a partition that has restarted: what it no longer knows."""

from ddlsim.protocol.commands import FullWrite
from ddlsim.protocol.replica_messages import PartitionSubmit
from ddlsim.units import Timestamp
from tests.support.primary import OLD, PLACE
from tests.support.protocol import FIRST_LEASE, NEVER, Member
from tests.support.trio import Trio, intent


def test_a_leader_that_restarts_takes_no_copy_of_what_it_may_have_refused() -> None:
    """What was sent since is taken; so is a copy of what is no write in one phase."""
    trio = Trio()
    trio.members["n1"] = Member(trio, "n1", {}, restarted=True)
    trio.local("n1").group.re_elect()
    trio.later(10)
    assert trio.local("n1").group.is_leader
    born_ts = trio["n1"].leases.born_ts
    for sent_ts, is_taken in ((born_ts, False), (Timestamp(born_ts + 1), True)):
        at_once = FullWrite(
            OLD, "w", Timestamp(10), 1, 1, (1, 5), FIRST_LEASE, 1, ((1, 1, 1),), NEVER
        )
        write = PartitionSubmit(sent_ts, PLACE, at_once, 7)
        answer = trio.asked(write)
        assert (answer.done, answer.result is None) == (is_taken, not is_taken)
        assert bool(trio.rows("n1")) is is_taken
    assert trio.asked(PartitionSubmit(born_ts, PLACE, intent(OLD), 8)).done
