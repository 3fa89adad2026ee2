"""A history that is written while its run goes on, so that its events need no memory.

The file is, byte for byte, what `codec.save` makes of the same run. It has its name only when it is
whole: a run that fails or is killed leaves nothing under that name.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ddlsim.files import beside, make_folder
from ddlsim.history import codec
from ddlsim.history.events import AnyEvent
from ddlsim.history.history import Header, History


class Stream:
    """Writes the records of one run to a file: a header, every event, the end."""

    def __init__(self, file: BinaryIO) -> None:
        self.failed: OSError | None = None
        self._file = file
        self._sealing = codec.Sealing()

    def begin(self, header: Header) -> None:
        """Write the first line."""
        self._put(self._sealing.header(header))

    def record(self, event: AnyEvent) -> None:
        """Write an event; what the system refuses is kept in `failed`, however the run ends."""
        self._put(self._sealing.event(event))

    def events(self) -> Iterator[AnyEvent]:
        """The events so far, one at a time, read back from the file."""
        self._file.flush()
        with open(self._file.name, "rb") as file:
            file.readline()
            for line in file:
                yield codec.event_of(line)

    def end(self, history: History) -> None:
        """Write the last line: the instant of the end, the probes and the digests."""
        self._put(self._sealing.end(history))

    def _put(self, line: bytes) -> None:
        try:
            self._file.write(line)
            self._file.write(b"\n")
        except OSError as error:
            self.failed = error
            raise


@contextmanager
def streamed(path: str | Path) -> Iterator[Stream]:
    """A stream to a file, which has its name when the block has ended well.

    Raises `WriteError` where there is no room, whatever a failing run makes of it.
    """
    make_folder(Path(path).parent)
    with beside(path) as partial, partial.open("wb") as file:
        stream = Stream(file)
        try:
            yield stream
        except Exception:
            if stream.failed is not None:
                raise stream.failed from None
            raise
