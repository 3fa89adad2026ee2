"""Jepsen's EDN: lines that differ in numbers only together, the others one by one.

Lines of most histories are alike but for their numbers (`alike`). Of others, as those with texts
for keys, the first line of each look is taken apart key by key, and an expression for that look
compiled; it accepts only what it fully understands. Operations become JSON in bulk (keywords as
texts, spaces as commas) and are read by orjson. Whatever does not fit goes to `edn_format`, form
by form; what that refuses is a trouble with its line.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import orjson

from ddlsim.foreign.readers import alike
from ddlsim.foreign.readers.alike import TYPES
from ddlsim.foreign.readers.brief import as_text
from ddlsim.foreign.readers.entries import Entries, Table
from ddlsim.foreign.readers.operations import UNREADABLE
from ddlsim.foreign.readers.problems import Trouble

# Groups are not possessive: before Python 3.11.5 one that fails half-way keeps what it took
# (cpython issue 106052), so that an unclosed string would pass.  Each begins with another sign.
PLAIN: Final = rb'[^][;"\\#{}()]*+(?:"[\w.-]*+"[^][;"\\#{}()]*+)*'
"""What stands between brackets in the operations of ordinary transactions."""
DEEP: Final = rb"\[%b(?:\[%b\]%b)*\]" % (PLAIN, PLAIN, PLAIN)
VALUE: Final = rb"\[%b(?:%b%b)*\]|nil" % (PLAIN, DEEP, PLAIN)
ATOM: Final = rb'"[^"\\]*+(?:\\.[^"\\]*+)*"|[^\s,\[\]{}()"\\;#]++'
GAP: Final = rb"[\s,]*+"
TAG: Final = rb"(?:#jepsen\.history\.Op\s*+)?"
WANTED: Final = {
    b"type": rb":(?P<type>invoke|ok|fail|info)",
    b"process": rb"(?P<process>\d{1,18}+)",
    b"value": rb"(?P<value>%b)" % VALUE,
    b"index": rb"(?P<index>\d{1,18}+)",
}
MOST_SHAPES: Final = 12
NAMES: Final = ("type", "process", "value", "index")
FIELDS: Final = (*NAMES, "f")
_CODES: Final = {name.encode(): code for name, code in TYPES.items()}

_KEY: Final = re.compile(rb"%b:([\w./?*+!<>=-]++)%b" % (GAP, GAP))
_OPEN: Final = re.compile(rb"%b%b%b\{" % (GAP, TAG, GAP))
_CLOSE: Final = re.compile(rb"%b\}%b$" % (GAP, GAP))
_TOKEN: Final = re.compile(
    rb'(?P<atom>"[^"\\]*+(?:\\.[^"\\]*+)*"|\\.[^\s\]\[{}(),]*+|[^\s,\[\]{}()"\\;#]++)'
    rb"|(?P<open>[\[{(])|(?P<close>[\]})])|(?P<skip>;[^\n]*+|#[^\s,\[\]{}()\"\\;]*+)"
    rb'|(?P<bad>")',
    re.DOTALL,
)
_VALUE: Final = re.compile(VALUE)
_WHOLE: Final = re.compile(rb"-?(?:0|[1-9]\d{0,17})")
_WORD: Final = re.compile(rb":[A-Za-z][A-Za-z0-9-]*")
_NIL: Final = re.compile(rb"(?<=[\[ ,])nil(?=[\] ,])")
_KEYWORD: Final = re.compile(rb':([^\s,\[\]{}()"]++)')
_OPENINGS: Final = {b"[:%b " % name: b'[":%b" ' % name for name in (b"r", b"append", b"w")}
_START: Final = re.compile(rb"(?:\s|;[^\n]*\n)*([\[(])?(?:\s|;[^\n]*\n)*" + TAG + rb"\{\s*+:")


def is_edn(head: bytes) -> bool:
    """Whether a file that begins so holds Jepsen's EDN."""
    return _START.match(head) is not None


def read(data: bytes) -> Table:
    """All entries of a file, or of what of it can be read."""
    entries = Entries()
    start = _START.match(data)
    if start is not None and start.group(1) is not None:
        lines = data.split(b"\n")
        _unwrap(lines, entries)
        data = b"\n".join(lines)
    found = alike.read(data, FORMAT)
    if found is not None and _one_each([line for _, line in found.left], len(found.lines)):
        entries.alike = found
        _Reader(entries).each(found.left)
    elif _one_each(lines := data.split(b"\n")):
        _Reader(entries).lines(lines)
    else:
        _Reader(entries).forms(data)
    raw = [at for at, value in enumerate(entries.values) if isinstance(value, bytes)]
    for at, value in zip(raw, values_of([entries.values[at] for at in raw]), strict=True):
        entries.values[at] = UNREADABLE if value is None else value
    return entries.table()


def _unwrap(lines: list[bytes], entries: Entries) -> None:
    """Take away the brackets around a whole history."""
    first = next(at for at, line in enumerate(lines) if line.lstrip()[:1] in (b"[", b"("))
    lines[first] = lines[first].lstrip()[1:]
    last = next(at for at in reversed(range(len(lines))) if lines[at].strip())
    ended = lines[last].rstrip()
    if ended.endswith((b"]", b")")):
        lines[last] = ended[:-1]
    else:
        entries.troubles.append(Trouble(last + 1, "the history ends before its closing bracket"))


def _one_each(lines: list[bytes], others: int = 0) -> bool:
    """Whether every line begins an entry, and only one; besides others of which that is known."""
    starts = (b"{", b"#jepsen", b";")
    full = [line for line in map(bytes.lstrip, lines) if line]
    if not all(map(bytes.startswith, full, [starts] * len(full))):
        return False
    return len(full) + others > 1 or b"\n".join(full).count(b":type") < 2


def _fields(line: bytes) -> dict[str, Any] | None:
    """An entry of a client, wholly read; None for anything else."""
    try:
        parts = _apart(line)
        if _KEYWORD.match(parts.get(b"process", b"").strip()):
            return None
        fields = _known(parts)
    except ValueError:
        return None
    if isinstance(fields.get("value"), bytes):
        fields["value"] = values_of([fields["value"]])[0]
        return None if fields["value"] is None else fields
    return fields


FORMAT: Final = alike.Format(before=b" ,[", after=b" ,]}", comma=False, read=_fields)


class _Reader:
    """Adds what it reads to the entries."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries
        self._shapes: list[re.Pattern[bytes]] = []

    def lines(self, lines: list[bytes]) -> None:
        """Entries one a line."""
        entries = self._entries
        types, processes = entries.types.append, entries.processes.append
        values, indices = entries.values.append, entries.indices.append
        numbers = entries.lines.append
        fits = re.compile(rb"(?!)").match
        for number, line in enumerate(lines, 1):
            found = fits(line) or self._other_shape(line)
            if found is None:
                if line.strip() and not line.lstrip().startswith(b";"):
                    self._form(line, number)
                continue
            fits = found.re.match
            type_, process, value, index = found.group(*NAMES)
            types(_CODES[type_])
            processes(int(process))
            values(None if value == b"nil" else value)
            indices(int(index or b"-1"))
            numbers(number)

    def _other_shape(self, line: bytes) -> re.Match[bytes] | None:
        for at, shape in enumerate(self._shapes):
            found = shape.match(line)
            if found is not None:
                self._shapes.insert(0, self._shapes.pop(at))
                return found
        return None

    def each(self, lines: list[tuple[int, bytes]]) -> None:
        """Entries one a line, of looks that are unlike each other."""
        for number, line in lines:
            if line.strip() and not line.lstrip().startswith(b";"):
                self._form(line, number)

    def forms(self, data: bytes) -> None:
        """Entries that stand on several lines, or many on one."""
        for number, form in split(data):
            if form is None:
                what = "an entry is cut off, or its brackets do not match"
                self._entries.troubles.append(Trouble(number, what))
            else:
                self._form(form, number)

    def _form(self, form: bytes, line: int) -> None:
        """One entry of a look that is new, or of none."""
        try:
            parts = _apart(form)
            fields = _known(parts)
        except ValueError as error:
            why = f"unreadable entry ({error})"
            self._entries.troubles.append(Trouble(line, f"{why}: {shown(form)}"))
            return
        self._entries.add_fields(fields, line)
        if len(self._shapes) < MOST_SHAPES and not isinstance(fields.get("process"), str):
            shape = _shape(list(parts))
            if shape is not None and shape.match(form):
                self._shapes.append(shape)


def _apart(form: bytes) -> dict[bytes, bytes]:
    """A map of keywords, its values still bytes; `ValueError` if it is none."""
    opened = _OPEN.match(form)
    if opened is None:
        raise ValueError("it is no map")
    parts: dict[bytes, bytes] = {}
    at = opened.end()
    while not _CLOSE.match(form, at):
        key = _KEY.match(form, at)
        if key is None:
            raise ValueError("a key is no keyword, or the map is cut off")
        end = _end_of_form(form, key.end())
        if key.group(1) in parts:
            raise ValueError(f"the key :{key.group(1).decode()} stands there twice")
        parts[key.group(1)] = form[key.end() : end]
        at = end
    return parts


def _end_of_form(data: bytes, at: int) -> int:
    """Where the form that begins here ends."""
    depth = 0
    while found := _TOKEN.search(data, at):
        at = found.end()
        kind = found.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
        if kind == "bad" or depth < 0:
            break
        if not depth and kind in {"atom", "close"}:
            return at
    raise ValueError("it is cut off, or its brackets do not match")


def split(data: bytes) -> Iterator[tuple[int, bytes | None]]:
    """The forms of a text with the lines they begin on; None for what is cut off at the end."""
    line, counted, depth, begin = 1, 0, 0, -1
    for found in _TOKEN.finditer(data):
        kind = found.lastgroup
        if begin < 0 and not (kind == "skip" and found.group().startswith(b";")):
            begin = found.start()
            line += data.count(b"\n", counted, begin)
            counted = begin
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
        if kind == "bad" or depth < 0:
            break
        if not depth and kind in {"atom", "close"}:
            yield line, data[begin : found.end()]
            begin = -1
    if begin >= 0:
        yield line, None


def _known(parts: dict[bytes, bytes]) -> dict[str, Any]:
    """The fields of an entry that count, read; `ValueError` for what cannot be.

    The value of what is no client's may be anything: it stays bytes.
    """
    known = {name: parts[name.encode()] for name in FIELDS if name.encode() in parts}
    if not _KEYWORD.match(known.get("process", b"").strip()):
        return {name: _field(name, part) for name, part in known.items()}
    return {
        name: part if name == "value" and part.strip() != b"nil" else _field(name, part.strip())
        for name, part in known.items()
    }


def _field(name: str, part: bytes) -> Any:
    """One field read; operations of an ordinary look stay bytes."""
    if name == "value" and part != b"nil" and _VALUE.fullmatch(part):
        return part
    bare = part.strip()
    if _WHOLE.fullmatch(bare):
        return int(bare)
    if _WORD.fullmatch(bare):
        return bare.decode()
    return plain(_parsed(part))


def _parsed(part: bytes) -> Any:
    import edn_format  # type: ignore[import-untyped]  # edn_format ships no types

    try:
        return edn_format.loads(part.decode("utf-8"))
    except UnicodeDecodeError:
        raise ValueError("it is no UTF-8") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except Exception as error:  # the parser raises whatever its tables meet
        words = " ".join(str(error).split())[:80]
        raise ValueError(words or type(error).__name__) from None


def plain(form: Any) -> Any:
    """A parsed form as lists, texts and numbers; `ValueError` for what no operation holds."""
    import edn_format

    if isinstance(form, edn_format.Keyword):
        return f":{form.name}"
    if isinstance(form, str) and not isinstance(form, edn_format.Char):
        return as_text(form)
    if form is None or isinstance(form, bool | int | float):
        return form
    if isinstance(form, list | tuple):
        return [plain(one) for one in form]
    if isinstance(form, edn_format.ImmutableList):
        return [plain(one) for one in form]
    return f"\\{_written(form)}"


def _written(form: Any) -> str:
    """Another form as EDN writes it, what has no order in a stated one."""
    import edn_format

    if isinstance(form, frozenset):
        return f"#{{{' '.join(sorted(map(_written, form)))}}}"
    if isinstance(form, edn_format.ImmutableDict):
        parts = sorted((_written(key), _written(value)) for key, value in form.items())
        return f"{{{' '.join(' '.join(part) for part in parts)}}}"
    return str(edn_format.dumps(form))


def _shape(keys: list[bytes]) -> re.Pattern[bytes] | None:
    """The expression for lines with these keys in this order."""
    if not {b"type", b"process", b"value"} <= set(keys):
        return None
    each = [rb":%b[ ]%b" % (re.escape(key), WANTED.get(key, rb"(?:%b)" % ATOM)) for key in keys]
    missing = b"" if b"index" in keys else rb"(?P<index>)"
    return re.compile(rb"%b\{%b%b\}\s*+$" % (TAG, rb"[ ,]++".join(each), missing))


def values_of(parts: list[bytes]) -> list[Any]:
    """Operations that stayed bytes, read; None for what turns out to be unreadable."""
    try:
        found = orjson.loads(b"[%b]" % _json(b"\n".join(parts)))
        if len(found) == len(parts):
            read: list[Any] = found
            return read
    except orjson.JSONDecodeError:
        pass
    return [_value(part) for part in parts]


def _value(part: bytes) -> Any:
    try:
        return orjson.loads(_json(part))
    except orjson.JSONDecodeError:
        try:
            return plain(_parsed(part))
        except ValueError:
            return None


def _json(text: bytes) -> bytes:
    """EDN of vectors, numbers, keywords and plain texts as JSON; parts on lines as a list."""
    if b"nil" in text:
        text = _NIL.sub(b"null", text)
    if text.count(b":") == sum(map(text.count, _OPENINGS)):
        for opening, json in _OPENINGS.items():
            text = text.replace(opening, json)
    else:
        text = _KEYWORD.sub(rb'":\1"', text)
    if b", " in text:
        text = text.replace(b", ", b" ")
    return text.replace(b" ", b",").replace(b"\n", b",")


def shown(form: bytes) -> str:
    """The beginning of a form, to be recognized by."""
    text = " ".join(form[:200].decode("utf-8", "replace").split())
    return f"{text[:60]} ..." if len(text) > 60 else text
