"""What a list-append history shows under a model."""

from typing import Final

from ddlsim.foreign.inference import list_findings, open_orders
from ddlsim.foreign.inference.inference import Found, is_snapshot, rank_of, search_of
from ddlsim.foreign.inference.lists import Lists, Slots, in_turn, seen, without_uncommitted
from ddlsim.foreign.readers.transactions import Transactions
from ddlsim.graph.history import ABORTED, COMMITTED
from ddlsim.graph.models import MODELS, Model

PARTS_COUNT: Final = frozenset({"read-committed", "read-atomic"})
"""Models under which fractured reads are looked for even without a cycle, or an edge left out."""


def found(history: Transactions, model: Model, *, loses: bool = False) -> Found:
    """Its findings and cycles, and what remains open.

    `loses`: the model allows that an append is lost, and something that the lists do not show may
    have done so. Then an append that no read shows has no place behind those that were read.
    """
    lists, shown = _inferred(history, model, loses=loses)
    shown.search(history, model)
    named = any(one.type == "fractured-read" for one in shown.cycles)
    torn = (shown.cycles or shown.open) and not named and model.name != "read-uncommitted"
    if torn or model.name in PARTS_COUNT:
        parts = list_findings.fractured(lists, shown)
        if parts is None and model.name == "read-atomic":
            shown.open.append(
                "transactions have too many keys: not all they read of each other was compared"
            )
        shown.findings += parts or []
    if is_snapshot(model) and not shown.breaks(model, history.status):
        _order_appends(lists, shown, model)
    return shown


def _inferred(history: Transactions, model: Model, *, loses: bool) -> tuple[Lists, Found]:
    """Edges and findings.

    Under read-uncommitted (PL-1) only writes of committed transactions count, in the order that
    remains of each list without the rest.
    """
    lists = Lists(history)
    node = history.status == COMMITTED
    shown = Found(node)
    if model.name == "read-uncommitted":
        list_findings.find_uncommitted(lists, shown)
        lists = Lists(without_uncommitted(lists))
        list_findings.find_incompatible(lists, shown)
    else:
        node[history.tx[seen(lists)]] = True
        node &= history.status != ABORTED
        list_findings.find(lists, shown)
    if len(lists.writes.twice):
        op = int(lists.writes.twice[0])
        shown.open.append(
            f"{len(lists.writes.twice)} appends of an element that was appended to its key before, "
            f"the first one {lists.element_name(int(lists.appended[op]))} to key "
            f"{lists.key_name(int(history.key[op]))} by {history.name(int(history.tx[op]))}: "
            "whose append was read is not certain"
        )
    slots = Slots(lists, node)
    shown.blocks = [slots.ww(), *slots.reads()]
    if not loses:
        shown.blocks.append(slots.unseen())
    shown.leave_out(lists.key_name(key) for key in slots.dropped)
    return lists, shown


def _order_appends(lists: Lists, shown: Found, model: Model) -> None:
    """Under snapshot isolation: whether appends that no read shows have any order.

    Where the graph has no cycle at all, an order of all transactions orders them too.
    """
    history, node, rank = lists.history, shown.node, rank_of(lists.history)
    more = in_turn(lists, node, rank)
    serial = next(
        one for one in MODELS.values() if "G2-item" in one.forbids and one.level == model.level
    )
    if not len(more) or not search_of(history, node, shown.blocks, serial, rank).components:
        return
    if not search_of(history, node, [*shown.blocks, more], model).components:
        return
    settled = open_orders.of_lists(lists, shown, model)
    shown.findings += settled.found
    if settled.valid is None:
        shown.open.append(
            "the order of appends that no read shows does not follow, and the one that was tried "
            "does not explain the history; a valid one may exist or not"
        )
