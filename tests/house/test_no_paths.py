"""Nothing in the project depends on the machine it was written on."""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import ROOT, committed, plant

# Built from parts, so that this file does not trip over itself.
FOLDERS = ("home", "root", "work", "tmp", "Users")
POSIX = re.compile(rf"(?<![\w.)\]}}-])/(?:{'|'.join(FOLDERS)})(?:/|(?<=work)\b)")
DRIVE = re.compile(r"\b[A-Za-z]:(?:\\{1,2}|/)(?:Users|Windows|Program|Documents|Temp)")
REGISTRY = re.compile(
    "|".join(
        re.escape(".".join(host))
        for host in [
            ("pypi", "org"),
            ("files", "pythonhosted", "org"),
        ]
    )
)


def local_paths(root: Path) -> Iterator[str]:
    """Lines of committed files, packed histories included, that name a place on some machine."""
    for path in committed(root):
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if any(pattern.search(line) for pattern in (POSIX, DRIVE, REGISTRY)):
                yield f"{path.relative_to(root).as_posix()}:{number}: {line.strip()[:120]}"


def text_of(path: Path) -> str:
    """The text of a file; what is not text names no path that a reader could see."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return data.decode("utf-8", errors="ignore")


def test_no_committed_file_names_a_place_on_a_machine() -> None:
    breaches = list(local_paths(ROOT))
    assert not breaches, "\n".join(["", *breaches])


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_planted_path_is_found(folder: str, tmp_path: Path) -> None:
    plant(tmp_path, {"reports/a/data.json": f'{{"made in": "/{folder}/someone"}}\n'})
    [breach] = local_paths(tmp_path)
    assert breach.startswith("reports/a/data.json:1:")


@pytest.mark.parametrize(
    "line",
    [
        "cd /wor" + "k",
        "at C:" + r"\Users\me",
        "at c:/" + "Users/me",
        "from https://pypi" + ".org/x",
    ],
)
def test_other_planted_places_are_found(line: str, tmp_path: Path) -> None:
    assert len(list(local_paths(plant(tmp_path, {"README.md": f"{line}\n"})))) == 1


def test_a_packed_history_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(b"at /" + b"tmp/x"))
    assert len(list(local_paths(tmp_path))) == 1


def test_ordinary_text_passes(tmp_path: Path) -> None:
    text = "see https://example.org/home/page, sim/work/x, a/tmp/b, 'error:\\n' and /workload/\n"
    assert list(local_paths(plant(tmp_path, {"README.md": text}))) == []
