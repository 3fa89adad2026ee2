"""Files that are there as a whole or not at all: written beside their name, then renamed.

Every file that a command leaves behind is written here. What was there before stays until the new
one is whole, so a full disk or a killed process leaves the old file, or none.
"""

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ddlsim.problems import BadInputError

PARTIAL: Final = ".tmp"
"""How files end that are being written; nothing ever reads one."""


ELSEWHERE: Final = "name a file that can be written, in a directory that exists"
FREE: Final = "free some space, or name another place"
ANOTHER: Final = "name another file"


TEXT: Final = "utf-8-sig"
"""How texts that people write are read: UTF-8, with the mark in front that some editors leave."""
MIB: Final = 2**20
TEXT_MOST: Final = 64 * MIB
"""Bytes of a scenario, a sweep, a file of SQL or a plug-in, and of what a command tells of its own
results (tune.json, sweep.json, summary.json)."""
MEASURED_MOST: Final = 2_048 * MIB
"""Bytes of a file of measurements, packed or unpacked."""
HISTORY_MOST: Final = 65_536 * MIB
"""Bytes of a history, native or foreign, packed or unpacked."""
KINDS: Final = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
"""What may stand in the place of a file and never end."""


DISGUISES: Final = {
    b"\x1f\x8b": "it is packed by gzip; unpack it",
    b"PK\x03\x04": "it is packed by zip; unpack it",
    b"BZh": "it is packed by bzip2; unpack it",
    b"\xfd7zXZ\x00": "it is packed by xz; unpack it",
    b"\x28\xb5\x2f\xfd": "it is packed by zstd; unpack it",
    b"\xff\xfe": "it is UTF-16; save it as UTF-8",
    b"\xfe\xff": "it is UTF-16; save it as UTF-8",
    b"\xef\xbb\xbf": "an editor has put a byte order mark in front; save it as UTF-8 without one",
}
"""How files begin that hold a text in another form, and what to do with them."""


def disguise(head: bytes) -> str | None:
    """Why a file that begins so is not plain UTF-8 text, with a remedy; None if that is unknown."""
    return next((why for mark, why in DISGUISES.items() if head.startswith(mark)), None)


STDIN: Final = "-"
"""What stands for the standard input in the words of other programs, and in those of `compat`."""
NOT_STDIN: Final = (
    "only compat reads the standard input; write its content into a file, and name that"
)
"""Why `STDIN` is refused where no file is called so."""


def unfit(file: str | Path, most: int) -> str | None:
    """Why a file is not read, found before it is opened: it is a pipe or a device, which may never
    end, it has more bytes than are read, or it stands for the standard input. None for any other,
    and for a directory.

    Raises `OSError` where there is no such file.
    """
    if str(file) == STDIN and not os.path.lexists(file):
        return NOT_STDIN
    found = os.stat(file)
    if (kind := KINDS.get(stat.S_IFMT(found.st_mode))) is not None:
        return f"is {kind}, which may never end; write its content into a file, and name that"
    return None if found.st_size <= most else larger(found.st_size, most)


def is_special(file: str | Path) -> bool:
    """Whether a pipe or a device stands there."""
    try:
        return stat.S_IFMT(os.stat(file).st_mode) in KINDS
    except (OSError, ValueError):  # a name with a zero byte is a ValueError
        return False


def below(folder: str | Path) -> tuple[list[Path], list[Path]]:
    """What lies in a folder and below it, sorted: the files, and the folders that cannot be listed.

    A link that leads nowhere is a file, as is what the system does not tell the kind of: reading
    fails, and says why. Pipes and devices are left out, and links to folders are not followed.
    """
    files: list[Path] = []
    shut: list[Path] = []
    walk = os.walk(folder, onerror=lambda error: shut.append(Path(error.filename)))
    for place, _, names in walk:
        paths = [os.path.join(place, name) for name in names]
        files += [Path(one) for one in paths if os.path.isfile(one) or not os.path.exists(one)]
    return sorted(files), sorted(shut)


def larger(size: int, most: int, what: str = "bytes") -> str:
    """Size, bound and remedy, in words."""
    return f"has {size:,} {what}, more than {most:,} are not read; split it, or take less of it"


class WriteError(BadInputError):
    """A file that cannot be written; the message is one line with a remedy."""


def refused(target: str | Path, error: OSError) -> WriteError:
    """What the system has refused, in one line."""
    why = os.strerror(error.errno) if error.errno else type(error).__name__
    remedy = FREE if is_full(error) else ELSEWHERE
    named = str(target) or "a file without a name"
    return WriteError(f"{named}: cannot be written ({why}); {remedy}")


def is_full(error: OSError) -> bool:
    """Whether there is no room for what was to be written."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def beside(target: str | Path, *, durable: bool = False) -> Iterator[Path]:
    """A path to write to, which takes the target's name when the block has ended well.

    A `durable` file is on the disk before it is renamed. A target that is no ordinary file (a
    terminal, a pipe) is written to directly: renaming would replace the device. Raises
    `WriteError` for whatever the system refuses within the block.
    """
    # a link stays a link: what it points at is replaced
    place = Path(os.path.realpath(target))
    special = place.exists() and not place.is_file() and not place.is_dir()
    partial = place if special else place.with_name(f"{place.name}.{os.getpid()}{PARTIAL}")
    try:
        yield partial
        if not special:
            if durable:
                _sync(partial)
            partial.replace(place)
    except OSError as error:
        raise refused(target, error) from error
    finally:
        if not special:
            with suppress(OSError):  # not there; or no place for a file, which has been said
                partial.unlink()


def apart(files: Mapping[str, str | None]) -> None:
    """Refuse an output that is the file of an input or of another output, which would be lost, and
    one that cannot be written: before the work, of which nothing would be left.

    `files` are by what names them, inputs first; what a flag (`--html`) names is an output. None is
    not given. A device keeps nothing.
    """
    seen: dict[str, str] = {}
    for flag, file in files.items():
        if file is None or is_special(file):
            continue
        if flag.startswith("--"):
            _has_place(flag, file)
        other = next((name for name, one in seen.items() if _is_same(one, file)), None)
        if other is not None:
            raise WriteError(f"{flag} {file}: that is {other}, which would be lost; {ANOTHER}")
        seen[flag] = file


def _has_place(flag: str, file: str) -> None:
    """Refuse a name that is empty or a directory's, and one in no directory that takes files."""
    if not file:
        raise WriteError(f"{flag}: the name is empty; name a file")
    place = Path(os.path.realpath(file))
    try:
        if place.is_dir():
            raise IsADirectoryError(errno.EISDIR, "")
        os.stat(f"{place.parent}{os.sep}")
        if not os.access(place.parent, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "")
    except OSError as error:
        raise refused(file, error) from error


def _is_same(one: str, other: str) -> bool:
    """Whether two names are of one file, by links too, be it there or not."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def no_file(flag: str, directory: str) -> None:
    """Refuse a file where a flag names a directory, and a name that is empty: it would be the
    directory that the command happens to run in."""
    if not directory:
        raise WriteError(f"{flag}: the name is empty; name a directory")
    path = Path(directory)
    if path.exists() and not path.is_dir():
        raise WriteError(f"{flag} {directory}: it is a file; name a directory")


def make_folder(folder: Path) -> None:
    """A folder and those above it; `WriteError` where there cannot be one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refused(folder, error) from error


def write_text(target: str | Path, text: str) -> None:
    """Write a text as UTF-8; what has no UTF-8 (a torn file name) is written with backslashes."""
    with beside(target) as partial:
        partial.write_bytes(text.encode("utf-8", "backslashreplace"))


def _sync(file: Path) -> None:
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
