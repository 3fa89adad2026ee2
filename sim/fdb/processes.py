"""Starting the processes of the plane, each on its node."""

from dataclasses import dataclass

from ddlsim.fdb.config import FdbConfig
from ddlsim.fdb.controller import Controller
from ddlsim.fdb.grv import Grv
from ddlsim.fdb.log import Log
from ddlsim.fdb.membership import START, Process, first_generation
from ddlsim.fdb.proxy import Proxy
from ddlsim.fdb.resolver import Resolver
from ddlsim.fdb.sequencer import Sequencer
from ddlsim.fdb.storage import Storage
from ddlsim.model.ports import Node


@dataclass(frozen=True, slots=True)
class Classes:
    """The class of each role's processes; a mutant replaces one of them."""

    sequencer: type[Sequencer] = Sequencer
    grv: type[Grv] = Grv
    proxy: type[Proxy] = Proxy
    resolver: type[Resolver] = Resolver
    log: type[Log] = Log
    storage: type[Storage] = Storage
    controller: type[Controller] = Controller


CLASSES = Classes()


def boot(
    role: str,
    node: Node,
    config: FdbConfig,
    restarted: bool,  # noqa: FBT001 - what every kind of process is started with
    classes: Classes = CLASSES,
) -> object:
    """Start the process of a role on a node.

    A new cluster's processes serve the first generation at once, so that a run begins in a healthy
    cluster; restarted ones wait until they are recruited.
    """
    if role == "controller":
        assert not restarted, "the controller does not fail"
        return classes.controller(node, config)
    if role == "storage":
        return classes.storage(node, config, restarted=restarted)
    kinds: dict[str, type[Process]] = {
        "sequencer": classes.sequencer,
        "grv": classes.grv,
        "proxy": classes.proxy,
        "resolver": classes.resolver,
        "log": classes.log,
    }
    process = kinds[role](node, config)
    generation = first_generation(config)
    if not restarted and process.is_member(generation):
        process.start(generation, START)
    return process
