"""The one place where a test waits for a process, a thread or a file.

No test of the default suite may depend on how fast or how busy the machine is: the bound here only
ends a test that would never end, and is far above what any machine needs. Timings are measured in
`tests/bench`, a stage of its own.
"""

import time
from collections.abc import Callable

PATIENCE_S = 900.0
"""After this a test is taken to hang."""


def until(ready: Callable[[], object], what: str, alive: Callable[[], object] = bool) -> None:
    """Wait until `ready()` is true.

    Calls `alive` between two looks, which may raise. Raises AssertionError, naming `what` was
    waited for, after PATIENCE_S.
    """
    end, pause_s = time.monotonic() + PATIENCE_S, 0.01
    while not ready():
        alive()
        assert time.monotonic() < end, f"waited {PATIENCE_S:g} s for: {what}"
        time.sleep(pause_s)
        pause_s = min(1.1 * pause_s, 0.04)  # a look may cost as much as what is waited for
