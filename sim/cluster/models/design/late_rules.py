"""The models of rules for late metadata: of busy leaders, and of statements without an update.

A leader whose metadata is not complete for a stamp is asked again for half of an operation's time:
no attempt begins later, and the write is refused no sooner (Apache Ignite 3). A statement that
changes nothing or is refused is judged again once its node's metadata is complete, by the newest
version there [98.x.8], and waits for the activation of that one [98.flow.4].
"""

from typing import Any

from ddlsim.cluster.models.design.rule_forms import Rule
from ddlsim.cluster.models.divergence import Divergence
from ddlsim.model.reasons import Reason
from ddlsim.protocol.messages import Operated
from ddlsim.protocol.strategy import OnePhasePart, SchemaChangePart
from ddlsim.units import US_PER_MS, Timestamp, show


class Attempts:
    """A one-phase write as the rule for a busy leader has it; `begun_us` are its attempts."""

    def __init__(self, write: OnePhasePart) -> None:
        self._write = write
        self.node = write.node
        self.op_ts = write.op_ts
        self.began_us = write.began_us
        self.begun_us: list[int] = []

    async def commit(self) -> Operated | None:
        """Stamp it again."""
        self.begun_us.append(self.node.watch.now_us)
        return await self._write.commit()

    def leave_intent(self) -> Operated:
        """Make it a write intent."""
        return self._write.leave_intent()


def busy_leader(rule: Rule, divergence: Divergence) -> Rule:
    """A busy leader is tried again for half of an operation's time, and refused no sooner."""

    async def compared(write: OnePhasePart) -> Any:
        settings, watch = write.node.settings, write.node.watch
        began_us, attempts = watch.now_us, Attempts(write)
        until_us = write.began_us + settings.busy_leader_us
        result = await rule(attempts)
        took_us, left_us = watch.now_us - began_us, until_us - began_us
        late = result.reason is Reason.METADATA_LATE
        if late and took_us < left_us - 2 * settings.resend_us - US_PER_MS:
            divergence.found(f"{rule.__name__} gave up after {took_us} us, with {left_us} us left")
        for at_us in attempts.begun_us:
            if at_us >= until_us and divergence.resumed_us(write.node.name) < until_us:
                divergence.found(f"{rule.__name__} tried again at {at_us} us, behind {until_us}")
        return result

    compared.__name__ = rule.__name__
    return compared


class Known:
    """The statement of a node whose metadata is complete now, if there is one."""

    def __init__(self, divergence: Divergence) -> None:
        self._divergence = divergence
        self._change: SchemaChangePart | None = None
        self._complete_us = -1

    def complete(self, change: SchemaChangePart) -> None:
        """The metadata is complete: a no-op or a refusal is decided within the instant."""
        self._change, self._complete_us = change, change.node.watch.now_us

    def acknowledged(self, rule: Rule) -> Rule:
        """From when on a statement without an update is acknowledged."""

        def compared(activation_ts: Timestamp, max_clock_skew_ms: int) -> Timestamp:
            change, self._change = self._change, None
            if change is not None and change.node.watch.now_us == self._complete_us:
                newest = change.catalog.latest()
                if activation_ts != newest.activation_ts:
                    what = f"a statement rests on what is active at {show(activation_ts)}"
                    self._divergence.found(f"{what}; version {newest.version} is known")
            due: Timestamp = rule(activation_ts, max_clock_skew_ms)
            return due

        compared.__name__ = rule.__name__
        return compared
