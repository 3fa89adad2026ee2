"""The client's side where processes encode rows: it sends values by name and caches no schema."""

import zlib

from ddlsim.history.event import Cells
from ddlsim.model.ops import Begin, DataOperation, Find, Insert, Update
from ddlsim.model.ports import NoReplyType
from ddlsim.model.schema import Value
from ddlsim.protocol.messages import ENCODINGS_BITS, Answer, ClientOperation, Refusal
from ddlsim.protocol.transaction.client import Client


class LayerClient(Client):
    """One client of a layer: a request for each operation, with the values as they were given."""

    async def operate(
        self,
        node: str,
        op: str,
        tx: str,
        do: DataOperation,
        begin: Begin | None = None,
        *,
        implicit: bool = False,
    ) -> Answer | Refusal | NoReplyType:
        """Run one operation; the process at `node` encodes and decodes rows."""
        action: str = do.__struct_config__.tag  # type: ignore[assignment]  # a str for all of them
        request = ClientOperation(
            op,
            tx,
            action,
            do.table,
            do.key,
            None,
            0,
            label=zlib.crc32(op.encode()) << ENCODINGS_BITS,
            begins=begin is not None and not implicit,
            implicit=implicit,
            metadata=do.metadata,
            columns=do.columns,
            session_ts=self.token_ts if self._session else None,
            read_only=begin is not None and begin.read_only,
            strict=type(do) is Insert and do.strict,
            read_ts=self.chosen_ts(op, begin),
            values=_values(do),
            spread=getattr(do, "spread", 0),
            index=do.index if type(do) is Find else "",
        )
        reply = await self.ask(node, request, request.label)
        assert isinstance(reply, Answer | Refusal | NoReplyType), reply
        return reply

    def _named(self, reply: Answer, cells: Cells) -> dict[str, Value]:
        """A row by the names of its columns, which the answer has in the order of the cells."""
        return {name: value for name, (_, value) in zip(reply.columns or (), cells, strict=True)}


def _values(do: DataOperation) -> dict[str, Value] | None:
    """The values by column name that a write sets or a find looks for; None where none is named."""
    if type(do) is Update or type(do) is Find:
        return do.values
    return getattr(do, "values", None)
