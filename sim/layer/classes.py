"""Which class plays which part on the plane: the store's processes, its client library, a layer."""

from dataclasses import dataclass

from ddlsim.fdb.database import Database
from ddlsim.fdb.processes import Classes
from ddlsim.layer.process import LayerProcess


@dataclass(frozen=True, slots=True)
class LayerClasses(Classes):
    """The classes of the store's processes, of the client library and of the layer's processes."""

    database: type[Database] = Database
    process: type[LayerProcess] = LayerProcess


LAYER_CLASSES = LayerClasses()
