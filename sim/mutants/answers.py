"""Statements whose answers contradict the meta storage's log."""

from ddlsim.model.ddl import Statement
from ddlsim.model.reasons import Reason
from ddlsim.mutants.base import mutates
from ddlsim.protocol.design.flows import Logged, acknowledged, replicate_wait_acknowledge
from ddlsim.protocol.messages import CatalogUpdate, NodeJoined, Submit, Submitted
from ddlsim.protocol.metastorage.metastorage import MetaStorage
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl import Built, NoOp, Refused, build
from ddlsim.protocol.schema.ddl_answers import Decision
from ddlsim.protocol.strategy import SchemaChangePart
from ddlsim.protocol.waiting import resend_delay


@mutates("install", "acknowledges_lost_race", "98.flow.1", "machinery")
async def acknowledge_lost_race(
    change: SchemaChangePart, op: str, statement: Statement
) -> Decision:
    """A statement that lost the compare-and-set is acknowledged as if it had won."""
    snapshot = change.catalog.latest()
    built = build(statement, snapshot, snapshot.next_object_id)
    if not isinstance(built, Built):
        return await replicate_wait_acknowledge(change, op, statement)
    _, version = await change.submit(f"{op}/0", snapshot.version, built)
    await change.metastorage.catalog_reaches(version)
    activation_ts = change.catalog.activation_of(version)
    return await acknowledged(change, op, Logged(built, version, activation_ts))


@mutates("rename", "excuses_every_statement", "98.flow.1", "machinery")
def excuse_what_is_not_there(
    statement: Statement, snapshot: Snapshot, _alias_ms: int
) -> Built | NoOp | Refused:
    """A statement about what is not there is acknowledged as if it said IF EXISTS."""
    built = build(statement, snapshot, snapshot.next_object_id)
    if isinstance(built, Refused) and built.reason is Reason.OBJECT_NOT_FOUND:
        return NoOp(built.message)
    return built


@mutates("metastorage", "fails_what_it_installed", "98.def.3", "machinery", also=("98.flow.1",))
class ForgettingMetaStorage(MetaStorage):
    """A statement whose answer was lost is built anew, and refused because of itself."""

    async def submit(self, command: CatalogUpdate | NodeJoined) -> Submitted:
        """Ask once; where the answer is lost, the command counts as refused."""
        node, leader = self.node, self.group.leader
        if type(command) is not CatalogUpdate or leader is None:
            return await super().submit(command)
        request = Submit(node.clock.now(), command)
        reply = await node.request(leader, request, resend_delay(node.settings, 0))
        if not isinstance(reply, Submitted):
            node.probe("submit-resent")
            version = self.application.catalog.version
            return Submitted(node.clock.now(), accepted=False, catalog_version=version)
        node.clock.update(reply.sent_ts)
        return reply
