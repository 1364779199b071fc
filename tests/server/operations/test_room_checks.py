"""`rumor doctor` shows what other rooms check, and says what is not installed."""

from importlib.metadata import EntryPoint

from rumor_server.operations.doctor import Finding, Level
from rumor_server.operations.room_checks import GROUP, check_rooms


def entry(name: str, function: str) -> EntryPoint:
    """An entry point as a package declares it."""
    return EntryPoint(name, f"{function} [simulations]", GROUP)


def well_and_broken() -> list[tuple[bool, str]]:
    """A check with two rows."""
    return [(True, "this holds"), (False, "that is broken")]


def without_a_folder() -> list[tuple[bool, str]]:
    """A check that can't write."""
    raise OSError(30, "Read-only file system")


HERE = "tests.server.operations.test_room_checks"


def test_shows_each_row() -> None:
    """A row is a finding under the name of its check: ok where all is well, else wrong."""
    assert list(check_rooms([entry("audit", f"{HERE}:well_and_broken")])) == [
        Finding(Level.OK, "audit", "this holds"),
        Finding(Level.WRONG, "audit", "that is broken"),
    ]


def test_says_what_is_not_installed() -> None:
    """A check whose module is missing names the extra, and is nothing wrong: a collector needs
    none.
    """
    (one,) = check_rooms([entry("audit", "rumor_no_such_room.audit:check")])
    assert one == Finding(Level.OK, "audit", "not installed: pip install 'rumor[simulations]'")


def test_warns_of_a_check_that_cannot_run() -> None:
    """A check that finds no place for its files says so, and the others are still run."""
    entries = [entry("b", f"{HERE}:well_and_broken"), entry("a", f"{HERE}:without_a_folder")]
    found = list(check_rooms(entries))
    assert [one.level for one in found] == [Level.WARNING, Level.OK, Level.WRONG]
    assert "Read-only file system" in found[0].detail


def test_finds_what_is_declared() -> None:
    """The package declares the audit, and it is found."""
    from importlib.metadata import entry_points

    assert {one.name for one in entry_points(group=GROUP)} == {"audit"}
