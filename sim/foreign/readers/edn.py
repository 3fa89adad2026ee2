"""Jepsen's EDN.

Lines that are alike but for their numbers are read together (`alike`). Any other entry is rewritten
as JSON if it is plain (keywords become texts, braces brackets, spaces commas), and orjson reads all
of these at once. What is not plain is taken apart key by key; of the fields that count edn_format
reads those that are not plain either, and what it refuses is a trouble with its line.
"""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal, localcontext
from itertools import islice
from typing import Any, Final

import orjson

from ddlsim.foreign.readers import alike
from ddlsim.foreign.readers.brief import TOO_DEEP, as_text
from ddlsim.foreign.readers.entries import Entries, Table
from ddlsim.foreign.readers.forms import TOKEN, bare, end_of_form, sound
from ddlsim.foreign.readers.problems import Trouble
from ddlsim.foreign.repeated import first_repeated

# Groups are not possessive: before Python 3.11.5 one that fails half-way keeps what it took
# (cpython issue 106052), so that an unclosed string would pass.  Each begins with another sign.
PLAIN: Final = rb'[^;"\\#{}()]*+(?:"[\w.-]*+"[^;"\\#{}()]*+)*'
"""Forms of vectors, keywords, numbers, symbols and texts without signs."""
GAP: Final = rb"[\s,]*+"
TAG: Final = rb"(?:#(?:jepsen\.history|knossos\.op)\.Op\s*+)?"
TOGETHER: Final = 500
"""Entries read at once: what the processor's caches hold."""
HEAD: Final = 4096
"""Bytes in which a history shows whether brackets are around it."""
DIGITS: Final = 28
"""Those of a decimal that is written without an exponent."""
FIELDS: Final = ("type", "process", "value", "index", "f")

_ENTRY: Final = re.compile(rb"\s*+%b\{(%b)\}\s*+" % (TAG, PLAIN))
_PLAIN: Final = re.compile(PLAIN)
_TIME: Final = re.compile(rb"\d{1,18}")
_HUGE: Final = re.compile(rb"\d{19}")
"""A number that orjson would round."""
_KEY: Final = re.compile(rb"%b:([^\s,\[\]{}()\"\\;]++)%b" % (GAP, GAP))
_NAME: Final = re.compile(r":[\w./?*+!<>=-]+", re.ASCII)
_OPEN: Final = re.compile(rb"%b%b%b\{" % (GAP, TAG, GAP))
_CLOSE: Final = re.compile(rb"%b\}%b$" % (GAP, GAP))
_NIL: Final = re.compile(rb"(?<=[\[ ])nil(?=[\] ])")
_START: Final = re.compile(rb"%b([\[(])?%b%b\{%b:" % (GAP, GAP, TAG, GAP))


def is_edn(head: bytes) -> bool:
    """Whether a file that begins so holds Jepsen's EDN."""
    return _START.match(bare(head)) is not None


def read(data: alike.Text) -> Table:
    """All entries of a file, or of what of it can be read."""
    entries = Entries()
    if (start := _START.match(bare(data[:HEAD]))) is not None and start.group(1) is not None:
        data = _unwrapped(bare(data[:]), start.start(1), entries)
    found = alike.read(data, FORMAT)
    if found is not None and _one_each([line for _, line in found.left], len(found.lines)):
        entries.alike = found
        _add(entries, found.left)
    elif _one_each(lines := data[:].split(b"\n")):
        _add(entries, enumerate(lines, 1))
    else:
        _add(entries, _forms(data[:], entries))
    return entries.table()


def _unwrapped(data: bytes, begin: int, entries: Entries) -> bytes:
    """A whole history without the brackets around it; the first is at `begin`."""
    inside = data[:begin] + b" " + data[begin + 1 :].rstrip()
    if inside.endswith((b"]", b")")):
        return inside[:-1]
    last = inside.count(b"\n") + 1
    entries.troubles.append(Trouble(last, "the history ends before its closing bracket"))
    return inside


def _one_each(lines: list[bytes], others: int = 0) -> bool:
    """Whether every line begins an entry, and only one; besides others of which that is known."""
    starts = (b"{", b"#jepsen", b"#knossos", b";")
    full = [line for line in map(bytes.lstrip, lines) if line]
    if not all(map(bytes.startswith, full, [starts] * len(full))):
        return False
    if any(b"#_" in bare(line) for line in full if b"#_" in line):  # the form is on a later line
        return False
    return len(full) + others > 1 or b"\n".join(full).count(b":type") < 2


def _add(entries: Entries, forms: Iterable[tuple[int, bytes]]) -> None:
    """Add entries, each with the line that it begins on."""
    wanted = (one for one in forms if one[1].strip() and not one[1].lstrip().startswith(b";"))
    known: dict[tuple[Any, ...], tuple[str, ...]] = {}
    while some := list(islice(wanted, TOGETHER)):
        plain = _loaded([_json_of(form) for _, form in some])
        for (line, form), flat in zip(some, plain, strict=True):
            fields = None if flat is None else _named(flat, known)
            if fields is None or _is_keyword(fields.get("process")):
                try:
                    fields = _known(_apart(form))
                except ValueError as error:
                    several = _several(form)
                    for one in several:
                        entries.add_fields(one, line)
                    if not several:
                        what = f"unreadable entry ({error}): {shown(form)}"
                        entries.troubles.append(Trouble(line, what))
                    continue
            entries.add_fields(fields, line)


def _several(line: bytes) -> list[dict[str, Any]]:
    """The entries of a line that holds several, or a comment behind; none if any is unsound."""
    spare = Entries()
    try:
        found = [_known(_apart(form)) for _, form in _forms(line, spare)]
    except ValueError:
        return []
    return [] if spare.troubles else found


def _is_keyword(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(":")


def _fields(line: bytes) -> dict[str, Any] | None:
    """An entry of a client; None for anything else."""
    try:
        fields = _known(_apart(line))
    except ValueError:
        return None
    return None if _is_keyword(fields.get("process")) else fields


FORMAT: Final = alike.Format(before=b" ,[", after=b" ,]}", comma=False, read=_fields)


# --- plain entries, as JSON -----------------------------------------------------------------------


def _json_of(form: bytes) -> bytes | None:
    """A plain entry as a JSON list of its keys and values in turn; None if it is not plain."""
    found = _ENTRY.fullmatch(form)
    if found is None or _HUGE.search(form):
        return None
    return b"[%b]" % _single_spaced(found.group(1))


def _single_spaced(text: bytes) -> bytes:
    return b" ".join(text.replace(b",", b" ").split())


def _loaded(parts: list[bytes | None]) -> list[Any]:
    """Plain EDN read, None where there is none or it cannot be read."""
    plain = [part for part in parts if part is not None]
    try:
        found = orjson.loads(b"[%b]" % _json(b"\n".join(plain)))
    except orjson.JSONDecodeError:
        found = []
    if len(found) != len(plain):
        found = [_value(part) for part in plain]
    each = iter(found)
    return [None if part is None else next(each) for part in parts]


def _value(part: bytes) -> Any:
    try:
        return orjson.loads(_json(part))
    except orjson.JSONDecodeError:
        return None


def _json(text: bytes) -> bytes:
    """Plain EDN of single spaces as JSON; parts on lines as elements of a list."""
    text = _NIL.sub(b"null", text + b"\n").replace(b"]", b" ]").replace(b"\n", b" \n")
    first, *keywords = text.split(b":")
    text = b'":'.join([first, *(one.replace(b" ", b'" ', 1) for one in keywords)])
    return text.replace(b" ]", b"]").replace(b" \n", b",")[:-1].replace(b" ", b",")


def _named(flat: list[Any], known: dict[tuple[Any, ...], tuple[str, ...]]) -> dict[str, Any] | None:
    """Keys and values in turn as a map; None where keys are no keywords, or not all different."""
    try:
        keys = tuple(flat[::2])
        names = known.get(keys)
    except TypeError:  # a key is a list
        return None
    if names is None:
        sound = all(isinstance(key, str) and _NAME.fullmatch(key) for key in keys)
        if len(flat) % 2 or len(set(keys)) < len(keys) or not sound:
            return None
        names = known[keys] = tuple(key[1:] for key in keys)
    return dict(zip(names, flat[1::2], strict=True))


# --- entries taken apart --------------------------------------------------------------------------


def _apart(form: bytes) -> dict[bytes, bytes]:
    """A map of keywords, its values still bytes; `ValueError` if it is none."""
    form = bare(form)
    opened = _OPEN.match(form)
    if opened is None:
        raise ValueError("it is no map")
    parts: dict[bytes, bytes] = {}
    at = opened.end()
    while not _CLOSE.match(form, at):
        key = _KEY.match(form, at)
        if key is None:
            raise ValueError("a key is no keyword, or the map is cut off")
        end = end_of_form(form, key.end())
        if key.group(1) in parts:
            raise ValueError(f"the key :{key.group(1).decode()} stands there twice")
        parts[key.group(1)] = form[key.end() : end]
        at = end
    return parts


def _forms(data: bytes, entries: Entries) -> Iterator[tuple[int, bytes]]:
    """The forms of a text that count, with the lines they begin on; a trouble for one that is cut
    off.
    """
    data = bare(data)
    line, counted, end = 1, 0, 0
    while found := TOKEN.search(data, end):
        begin = found.start()
        line += data.count(b"\n", counted, begin)
        counted = begin
        try:
            end = end_of_form(data, begin)
        except ValueError:
            what = "an entry is cut off, or its brackets do not match"
            entries.troubles.append(Trouble(line, what))
            return
        yield line, data[begin:end]


def _known(parts: dict[bytes, bytes]) -> dict[str, Any]:
    """The fields of an entry that count, read; `ValueError` for what cannot be.

    The value of a process that is no client's may be anything: it stays bytes.
    """
    known = {name: parts[name.encode()].strip() for name in FIELDS if name.encode() in parts}
    named = known.get("process", b"").startswith(b":")
    found = {
        name: part if named and name == "value" and part != b"nil" else _field(part)
        for name, part in known.items()
    }
    time = parts.get(b"time", b"").strip()
    return found | ({"time": int(time)} if _TIME.fullmatch(time) else {})


def _field(part: bytes) -> Any:
    """One field read."""
    if part != b"nil" and _PLAIN.fullmatch(part) and not _HUGE.search(part):
        [found] = _loaded([_single_spaced(part)])
        if found is not None:
            return found
    try:
        return plain(_parsed(part))
    except RecursionError:
        raise ValueError(TOO_DEEP) from None


def _parsed(part: bytes) -> Any:
    import edn_format  # type: ignore[import-untyped]  # edn_format ships no types

    if b"{" in part:
        _check_maps(part)
    part = sound(part)
    try:
        with localcontext(prec=max(DIGITS, len(part))):  # edn_format rounds decimals to it
            return edn_format.loads(part.decode("utf-8"))
    except UnicodeDecodeError:
        raise ValueError("it is no UTF-8") from None
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except Exception as error:  # the parser raises whatever its tables meet
        words = " ".join(str(error).split())[:80]
        raise ValueError(words or type(error).__name__) from None


def _check_maps(part: bytes) -> None:
    """`ValueError` where a key stands twice in a map, or an element in a set, at any depth.

    edn_format takes the last value of such a key.
    """
    inside: list[tuple[bytes, int, list[bytes]]] = [(b"", 0, [])]
    before = b""
    for found in TOKEN.finditer(part):
        kind, text = found.lastgroup, found.group()
        if kind == "open":
            inside.append((b"#{" if before == b"#" else text, found.start(), []))
        elif kind == "close" and len(inside) > 1:
            opened, start, forms = inside.pop()
            keys = {b"{": forms[::2], b"#{": forms}.get(opened, [])
            if (twice := first_repeated(keys)) is not None:
                raise ValueError(f"{shown(twice)} stands twice in a map or set")
            inside[-1][2].append(b" ".join(part[start : found.end()].split()))
        elif kind == "atom":
            inside[-1][2].append(text)
        before = text


def plain(form: Any) -> Any:
    """A parsed form as lists, texts and numbers; `ValueError` for what no operation holds."""
    import edn_format

    if isinstance(form, edn_format.Keyword):
        return f":{form.name}"
    if isinstance(form, str) and not isinstance(form, edn_format.Char):
        utf_16 = form.encode("utf-16-le", "surrogatepass")  # Clojure's: \ud83d\ude00 is one sign
        return as_text(utf_16.decode("utf-16-le", "surrogatepass"))
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
    if isinstance(form, list | tuple | edn_format.ImmutableList):
        return f"[{' '.join(map(_written, form))}]"
    return _decimal(form) if isinstance(form, Decimal) else str(edn_format.dumps(form))


def _decimal(form: Decimal) -> str:
    """A decimal, the same text for equal ones: 1.0M is 1.00M, as in Clojure."""
    sign, digits, exponent = form.as_tuple()
    assert isinstance(exponent, int), form
    kept = "".join(map(str, digits)).lstrip("0")
    short = kept.rstrip("0")
    exponent = exponent + len(kept) - len(short) if short else 0
    if 0 < exponent <= DIGITS:
        short, exponent = short + "0" * exponent, 0
    least = Decimal((sign if short else 0, tuple(map(int, short or "0")), exponent))
    return f"{least}M"


def shown(form: bytes) -> str:
    """The beginning of a form, to be recognized by."""
    text = " ".join(form[:200].decode("utf-8", "replace").split())
    return f"{text[:60]} ..." if len(text) > 60 else text
