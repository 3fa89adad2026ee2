"""The client library: one `Database` for each client process, which makes its transactions."""

from ddlsim.fdb.config import FdbConfig
from ddlsim.fdb.connection import Connection
from ddlsim.fdb.transaction import Transaction, TxOptions
from ddlsim.model.ports import Node

DEFAULTS = TxOptions()


class Database:
    """A client process's way to the store."""

    def __init__(self, node: Node, config: FdbConfig) -> None:
        self.connection = Connection(node, config)

    def transaction(self, options: TxOptions = DEFAULTS) -> Transaction:
        """A new transaction."""
        return Transaction(self.connection, options)
