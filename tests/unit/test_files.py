"""A file is there as a whole or not at all, and what cannot be written is one line."""

import errno
import os
import pickle
from pathlib import Path

import pytest

from ddlsim.files import WriteError, apart, below, beside, make_folder, no_file, write_text


def torn(file: Path, error: Exception) -> None:
    """Write half of a file, then fail."""
    with beside(file) as partial:
        partial.write_text("half of the new one")
        raise error


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "f"
    write_text(file, "old")
    with pytest.raises(ZeroDivisionError):
        torn(file, ZeroDivisionError())
    assert (file.read_text(), os.listdir(tmp_path)) == ("old", ["f"])
    write_text(file, "new")
    assert (file.read_text(), os.listdir(tmp_path)) == ("new", ["f"])


def test_a_full_disk_is_one_line_with_a_remedy(tmp_path: Path) -> None:
    file = tmp_path / "f"
    write_text(file, "old")
    with pytest.raises(WriteError) as caught:
        torn(file, OSError(errno.ENOSPC, "any words"))
    why = "cannot be written (No space left on device); free some space, or name another place"
    assert str(caught.value) == f"{file}: {why}"
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert (file.read_text(), os.listdir(tmp_path)) == ("old", ["f"])


def test_what_is_refused_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match=r"No such file or directory.*in a directory that exists"):
        write_text(tmp_path / "none" / "f", "x")
    (tmp_path / "f").write_text("x")
    with pytest.raises(WriteError, match="cannot be written"):
        make_folder(tmp_path / "f" / "g")
    with pytest.raises(WriteError) as caught:  # the one named, not what would stand beside it
        write_text(tmp_path / "f" / "g", "x")
    assert str(caught.value).startswith(f"{tmp_path / 'f' / 'g'}: cannot be written (Not a direct")
    with pytest.raises(WriteError, match="cannot be written"):
        write_text(tmp_path, "x")
    with pytest.raises(WriteError, match=r"^a file without a name: cannot be written"):
        write_text("", "x")
    assert os.listdir(tmp_path) == ["f"]


def test_a_link_stays_a_link_and_a_device_a_device(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "f")
    write_text(tmp_path / "link", "x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "f").read_text() == "x"
    write_text("/dev/null", "x")
    assert Path("/dev/null").is_char_device()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")
def test_a_device_that_is_full() -> None:
    with pytest.raises(WriteError, match="No space left on device"):
        write_text("/dev/full", "x")
    assert Path("/dev/full").is_char_device()


def test_a_torn_name_is_written_with_backslashes(tmp_path: Path) -> None:
    write_text(tmp_path / "f", "a\udcffb")
    assert (tmp_path / "f").read_bytes() == rb"a\udcffb"


def test_an_output_is_no_other_file_of_the_command(tmp_path: Path) -> None:
    file, other = tmp_path / "f", tmp_path / "g"
    file.write_text("x")
    other.symlink_to(file)
    os.link(file, tmp_path / "h")
    for name in (file, other, tmp_path / "h", tmp_path / "." / "f"):
        with pytest.raises(WriteError, match=r"^--html .*: that is HISTORY, which would be lost"):
            apart({"HISTORY": str(file), "--svg": None, "--html": str(name)})
    with pytest.raises(WriteError, match="that is --html, which would be lost; name another file"):
        apart({"--html": f"{tmp_path}/new", "--svg": f"{tmp_path}/./new"})
    apart({"HISTORY": None, "--html": "/dev/null", "--svg": "/dev/null"})
    apart({"HISTORY": str(file), "--html": f"{tmp_path}/new", "--svg": f"{tmp_path}/newer"})


def test_the_name_of_a_directory_is_not_empty() -> None:
    with pytest.raises(WriteError, match="--out: the name is empty; name a directory"):
        no_file("--out", "")


def test_below_a_folder_nothing_that_may_be_a_file_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links that lead nowhere, and folders that cannot be listed; a pipe never ends."""
    (tmp_path / "deep" / "shut").mkdir(parents=True)
    (tmp_path / "deep" / "a").write_text("")
    (tmp_path / "deep" / "b").symlink_to("nowhere")
    (tmp_path / "deep" / "c").symlink_to("c")
    (tmp_path / "deep" / "up").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "deep" / "pipe")
    listed = os.scandir

    def scandir(place: str) -> object:
        if str(place).endswith("shut"):
            raise PermissionError(errno.EACCES, "", str(place))
        return listed(place)

    monkeypatch.setattr(os, "scandir", scandir)

    deep = tmp_path / "deep"
    assert below(tmp_path) == ([deep / "a", deep / "b", deep / "c"], [deep / "shut"])
