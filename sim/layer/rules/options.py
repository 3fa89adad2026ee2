"""How clients' transactions read and commit, by name.  [options]"""

from typing import Final

from ddlsim.fdb.transaction import TxOptions
from ddlsim.layer.design import DEFAULTS

AS_FOUNDATIONDB: Final = DEFAULTS
"""As FoundationDB's client library does by default."""
CACHED_READ_VERSION: Final = TxOptions(cached_read_version=True)
"""A read version that the process has had for up to `grv_cache_ms` (C12-T5)."""
CAUSAL_WRITE_RISKY: Final = TxOptions(causal_write_risky=True)
"""No key of its own: without reads nothing conflicts, and nothing is too old (C10-T2, C15-T3)."""
