"""What the system refuses is told in words: which file or place, what is wrong, what to do."""

import errno
import os
import socket
from pathlib import Path

import pytest

from rumor_shared.os_errors import explain, explain_listening


def refusal(path: Path, mode: str = "r") -> OSError:
    """What opening a file raises."""
    with pytest.raises(OSError, match=r".") as caught, path.open(mode):
        pass
    return caught.value


def test_names_the_file_and_what_it_is(tmp_path: Path) -> None:
    """A missing file, a folder, a missing folder and a file in a folder's place are each said."""
    (tmp_path / "file").write_text("x")
    for path, mode, words in (
        (tmp_path / "none", "r", f"{tmp_path / 'none'}: does not exist"),
        (tmp_path, "r", f"{tmp_path}: is a folder"),
        (tmp_path / "no" / "file", "w", f"{tmp_path / 'no'}: there is no such folder"),
        (tmp_path / "file" / "x", "r", f"{tmp_path / 'file' / 'x'}: is below a file"),
        (tmp_path / "file", "x", f"{tmp_path / 'file'}: is there already"),
    ):
        said = explain(refusal(path, mode))
        assert said.startswith(words)
        assert "Errno" not in said
        assert ";" in said


def test_names_the_place_that_was_meant(tmp_path: Path) -> None:
    """Where a copy of ours can't take a name, the name is told and not the copy."""
    copy, place = tmp_path / ".copy.new", tmp_path / "place"
    copy.write_text("x")
    place.mkdir()
    with pytest.raises(OSError, match=r".") as caught:
        copy.replace(place)
    assert explain(caught.value) == f"{place}: is a folder; give a file"


def test_leaves_our_own_words(tmp_path: Path) -> None:
    """An error that we made with a message is told as it is, one without a file by its word."""
    assert explain(FileExistsError("it is there; name another")) == "it is there; name another"
    assert explain(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))) == os.strerror(errno.ENOSPC)
    assert explain(OSError(errno.EIO, "Input/output error", "x")) == "x: Input/output error"
    windows = PermissionError(errno.EACCES, "Access is denied", str(tmp_path))
    assert explain(windows) == f"{tmp_path}: is a folder; give a file"


def test_says_why_nothing_can_listen() -> None:
    """A port in use, a foreign address and a name of no machine are told with host and port."""
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        first.listen()
        port = first.getsockname()[1]
        with pytest.raises(OSError, match=r".") as used:
            second.bind(("127.0.0.1", port))
    said = explain_listening("127.0.0.1", port, used.value)
    assert said.startswith(f"127.0.0.1:{port}: another program listens there;")
    foreign = explain_listening("::5", 1, OSError(errno.EADDRNOTAVAIL, "x"))
    assert foreign.startswith("[::5]:1: this machine has no such address;")
    nobody = explain_listening("x", 1, socket.gaierror(-2, "Name or service not known"))
    assert nobody.startswith("x:1: this is the name of no machine;")
    assert explain_listening("x", 1, OSError(5, "Odd")).startswith(
        "x:1: can't be listened at (Odd)"
    )
