"""A client of a layer beside a run: each request says what was asked for, and nothing else."""

from itertools import product
from typing import Any, Final

from ddlsim.cluster.models.divergence import Divergence, Models
from ddlsim.cluster.store_models.library_walk import done
from ddlsim.fdb.config import CONTROLLER
from ddlsim.layer.client import LayerClient
from ddlsim.model.ops import Begin, Delete, Find, Get, Insert, Put, Scan, Update
from ddlsim.protocol.messages import Answer, ClientOperation
from ddlsim.units import Micros, Timestamp

TOKEN: Final = Timestamp(9)
VALUES: Final[dict[str, Any]] = {"v": 3}
ASKED: Final[tuple[tuple[Any, dict[str, Any]], ...]] = (
    (Get("t", 1, metadata=True, columns=("v",)), {"metadata": True, "columns": ("v",)}),
    (Get("t", 1), {}),
    (Scan("t", metadata=True), {"metadata": True, "key": None}),
    (Put("t", 1, VALUES, 5), {"values": VALUES, "spread": 5}),
    (Put("t", 1), {}),
    (Insert("t", 1, VALUES, strict=True), {"values": VALUES, "strict": True}),
    (Insert("t", 1, VALUES), {"values": VALUES}),
    (Update("t", 1, VALUES), {"values": VALUES}),
    (Delete("t", 1), {}),
    (Find("t", "i", VALUES), {"values": VALUES, "index": "i", "key": None}),
)
"""Operations, and what their requests say besides the table, the key and the transaction."""


class Line:
    """A connection that keeps what is sent."""

    recording = False

    def __init__(self) -> None:
        self.sent: list[ClientOperation] = []

    async def request(self, _to: str, payload: Any, _timeout_us: Micros, _label: Any) -> Answer:
        self.sent.append(payload)
        return Answer(TOKEN)


def compare_requests(divergence: Divergence) -> None:
    """Compare the request of each operation, in each kind of transaction."""
    begins = (None, Begin(), Begin(read_only=True))
    for (do, says), begin, session in product(ASKED, begins, (False, True)):
        for implicit in (False, True):
            line: Any = Line()
            client = LayerClient("c", line, Micros(1), session=session)
            for op in ("o1", "o2"):
                done(client.operate("n1", op, "x", do, begin, implicit=implicit))
            for request, token in zip(line.sent, (None, TOKEN if session else None), strict=True):
                due = {
                    "action": do.__struct_config__.tag,
                    "table": "t",
                    "key": 1,
                    "tx": "x",
                    "begins": begin is not None and not implicit,
                    "implicit": implicit,
                    "read_only": begin is not None and begin.read_only,
                    "metadata": False,
                    "columns": (),
                    "strict": False,
                    "values": None,
                    "spread": 0,
                    "index": "",
                    "session_ts": token,
                    **says,
                }
                got = {name: getattr(request, name) for name in due}
                divergence.compare(f"the request for {do}", got, due)
            labels = {request.label for request in line.sent}
            divergence.compare("the labels of two requests", len(labels), 2)
    away: Any = Line()
    client = LayerClient("c", away, Micros(1), session=False)
    answer = Answer(TOKEN, ((1, ((1, 7), (2, 8))),), ("a", "b"))
    for do, due in ((Get("t", 1), {"a": 7, "b": 8}), (Get("t", 1, columns=("b",)), {"b": 8})):
        divergence.compare("a row as it is shown", client.shown(do, answer), [due])


def walk_client(models: Models) -> None:
    """Compare a client beside a run."""
    compare_requests(models.divergence("client", CONTROLLER))
