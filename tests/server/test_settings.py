"""Settings: one table, four sources in order, and an error that names the one at fault."""

from dataclasses import fields
from pathlib import Path

import pytest

from rumor_server.access import parse_origins, parse_root_path
from rumor_server.cli import settings
from rumor_server.cli.settings import settings_page
from rumor_server.errors import SettingsError
from rumor_server.settings import (
    PREFIX,
    Settings,
    foreign_variables,
    load_settings,
    service_variables,
    shown,
    table,
)


def test_has_a_meaning_for_every_setting() -> None:
    """Every field of the settings is in the table, with its type and what it means."""
    assert list(table()) == [one.name for one in fields(Settings)]
    for kind, about in table().values():
        assert kind in {Path, str, int, float}
        assert about.meaning


def test_documents_every_setting() -> None:
    """The page of settings is the one that the table makes: `rumor settings --markdown`."""
    page = Path(__file__).parents[2] / "docs" / "settings.md"
    assert page.read_text("utf-8") == settings_page()


def test_prints_every_setting(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`rumor settings` prints each one, for people and as JSON, and never the database."""
    file = tmp_path / "settings.toml"
    file.write_text('port = 81\ndatabase_url = "postgresql://u:SECRET123@db/rumor"\n', "utf-8")
    for words in ([], ["--json"], ["--markdown"]):
        assert settings.main([*words, "--settings", str(file)]) == 0
        printed = capsys.readouterr().out
        assert "SECRET123" not in printed
        for one in fields(Settings):
            assert one.name in printed
            assert PREFIX + one.name.upper() in printed
    assert settings.main(["--settings", str(tmp_path / "none.toml")]) == 1


def test_hides_what_is_secret() -> None:
    """A secret's value is hidden, whether it is set is not."""
    values = {one.name: one.value for one in shown(Settings(database_url="postgresql://x", port=1))}
    assert (values["database_url"], values["port"]) == ("(hidden)", "1")
    assert {one.name: one.value for one in shown(Settings())}["database_url"] == ""


def test_prefers_option_then_environment_then_file(tmp_path: Path) -> None:
    """The nearest source wins, and what none gives keeps its default."""
    file = tmp_path / "settings.toml"
    file.write_text('port = 1\nhost = "file"\nqueue_reports = 600\n', "utf-8")
    environment = {"RUMOR_PORT": "2", "RUMOR_HOST": "environment", "RUMOR_CONSENT": "denied"}
    found = load_settings({"port": 3, "host": None}, environment, file)
    assert (found.port, found.host, found.queue_reports) == (3, "environment", 600)
    assert found.database == Settings().database


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"port = ", "is not TOML"),
        (b"port = " + b"9" * 5000, "too long to read"),
        (b"port = " + b"[" * 5000, "too long to read"),
        (b"host = '\xff'", "is not UTF-8"),
        (b'database = "a\\u0000b"', "is not text"),
    ],
    ids=lambda one: str(one)[:20],
)
def test_says_what_is_wrong_with_a_file(text: bytes, said: str, tmp_path: Path) -> None:
    """A file that is no settings is refused in words, whatever Python would make of it."""
    file = tmp_path / "settings.toml"
    file.write_bytes(text)
    with pytest.raises(SettingsError, match=said):
        load_settings({}, {}, file)


@pytest.mark.parametrize("name", [one.name for one in fields(Settings)])
def test_reads_every_setting_from_the_environment(name: str) -> None:
    """The variable of a setting is RUMOR_ and its name in capitals."""
    kind, about = table()[name]
    text = (
        about.choices[-1] if about.choices else "x" if about.high is None else f"{about.high:.0f}"
    )
    if name == "database_url":
        text = "postgresql://x"
    assert getattr(load_settings({}, {PREFIX + name.upper(): text}), name) == kind(text)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("port = 70000", "port"),
        ("port = -1", "port"),
        ("port = true", "port"),
        ("port = 1.5", "port"),
        ('port = "80"', "port"),
        ("busy_seconds = nan", "busy_seconds"),
        ('log_level = "loud"', "log_level"),
        ('ingest_access = "closed"', "ingest_access"),
        ("database = 1", "database"),
        ('database = ""', "database"),
        ("prot = 80", "prot"),
        ("port = ", "settings.toml"),
    ],
)
def test_names_the_setting_at_fault(tmp_path: Path, text: str, named: str) -> None:
    """A wrong or unknown setting of a file is refused by name."""
    file = tmp_path / "settings.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(SettingsError) as caught:
        load_settings({}, {}, file)
    assert caught.value.name == named


@pytest.mark.parametrize(
    "text", ["", "x", "1e3", "nan", " 8000 ", "8_000", "٣", "0x10", "+80", "80\n", "8000 "]
)
def test_names_the_variable_at_fault(text: str) -> None:
    """C-13: a variable that is no such number is refused by its own name, as an option is."""
    with pytest.raises(SettingsError) as caught:
        load_settings({}, {"RUMOR_PORT": text})
    assert caught.value.name == "RUMOR_PORT"
    with pytest.raises(SettingsError):
        load_settings({"port": text}, {})


@pytest.mark.parametrize(
    ("variable", "near"),
    [
        ("RUMOR_INGEST_ACESS", "RUMOR_INGEST_ACCESS"),
        ("RUMOR_INGESTACCESS", "RUMOR_INGEST_ACCESS"),
        ("RUMOR_PROT", "RUMOR_PORT"),
        ("RUMOR_DATABASE_URI", "RUMOR_DATABASE_URL"),
    ],
)
def test_a_variable_that_is_nearly_one_is_refused(variable: str, near: str) -> None:
    """C-13: a misspelt access is not an open collector; the nearest name is told."""
    with pytest.raises(SettingsError, match=f"did you mean {near}") as caught:
        load_settings({}, {variable: "key"})
    assert caught.value.name == variable


def test_other_variables_are_told_and_ours_are_not() -> None:
    """What begins as ours do and resembles none is named in a warning."""
    environment = {"RUMOR_COLOUR": "blue", "RUMOR_ENDPOINT": "x", "RUMOR_PORT": "1", "HOME": "/"}
    load_settings({}, environment)
    assert foreign_variables(environment) == ["RUMOR_COLOUR"]


# What Kubernetes sets for Services named `rumor` and `rumor-postgres`.
KUBERNETES = {
    "RUMOR_PORT": "tcp://10.43.0.17:8000",
    "RUMOR_SERVICE_HOST": "10.43.0.17",
    "RUMOR_SERVICE_PORT": "8000",
    "RUMOR_SERVICE_PORT_HTTP": "8000",
    "RUMOR_PORT_8000_TCP": "tcp://10.43.0.17:8000",
    "RUMOR_PORT_8000_TCP_PROTO": "tcp",
    "RUMOR_PORT_8000_TCP_PORT": "8000",
    "RUMOR_PORT_8000_TCP_ADDR": "10.43.0.17",
    "RUMOR_POSTGRES_SERVICE_HOST": "10.43.0.18",
    "RUMOR_POSTGRES_PORT": "tcp://[fd00::18]:5432",
    "RUMOR_POSTGRES_PORT_5432_TCP_ADDR": "fd00::18",
}


def test_knows_what_kubernetes_sets() -> None:
    """N-11: a Service named `rumor` neither stops a command nor moves its port; it is named."""
    assert load_settings({}, KUBERNETES).port == 8000
    assert load_settings({"port": 8473}, KUBERNETES).port == 8473
    assert foreign_variables(KUBERNETES) == []
    assert service_variables(KUBERNETES) == ["RUMOR_PORT"]
    with pytest.raises(SettingsError, match=r"'tcp:/10\.0\.0\.1'"):
        load_settings({}, {"RUMOR_PORT": "tcp:/10.0.0.1"})


def test_what_an_option_overrides_is_not_parsed() -> None:
    """N-11: a variable that can't be counts for nothing where an option is given."""
    assert load_settings({"port": "81"}, {"RUMOR_PORT": "x"}).port == 81
    wrong = {"RUMOR_DATABASE_URL": "nonsense"}
    assert load_settings({"database": "here.sqlite3"}, wrong).database_url == ""


@pytest.mark.parametrize(
    "name",
    [
        ":memory:",
        "file:a.db?mode=memory",
        "file::memory:",
        "FILE:x",
        "postgresql+psycopg://u:SECRET@h/db",
        "POSTGRESQL://u:SECRET@h/db",
        " postgresql://u:SECRET@h/db",
        "host=db dbname=rumor password=SECRET",
        "sqlite:///x.db",
        "mysql://u:SECRET@h/db",
        " rumor.sqlite3",
    ],
)
def test_a_database_that_would_lose_or_tell_is_refused(name: str) -> None:
    """N-12, N-14: neither memory nor a mistyped address is a file; a password isn't repeated."""
    for given in ({"database": name}, {}):
        environment = {} if given else {"RUMOR_DATABASE": name}
        with pytest.raises(SettingsError) as caught:
            load_settings(given, environment)
        assert "SECRET" not in str(caught.value)
    if "://" in name:
        with pytest.raises(SettingsError) as caught:
            load_settings({}, {"RUMOR_DATABASE_URL": name})
        assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["*", "https://*.example.org", "null", "example.org", "https://a.org/", "ftp://a.org"]
)
def test_an_origin_is_named(text: str) -> None:
    """C-13: `*` would let every page read; what is no origin would let none, in silence."""
    with pytest.raises(SettingsError, match="cors_origins"):
        parse_origins(f"https://good.example.org, {text}")


def test_takes_origins_as_browsers_write_them() -> None:
    """Ports and addresses are part of an origin."""
    text = "https://a.org, http://localhost:3000,http://[::1]:8080"
    assert parse_origins(text) == ("https://a.org", "http://localhost:3000", "http://[::1]:8080")


@pytest.mark.parametrize("text", ["rumor", "/rumor/", "//x", "/a b", "/a?b", "https://x/rumor"])
def test_a_path_of_a_proxy_is_a_path(text: str) -> None:
    """N-16: what would make broken links is refused."""
    with pytest.raises(SettingsError, match="root_path"):
        parse_root_path(text)


def test_a_file_that_is_named_wins_over_an_address_in_the_environment() -> None:
    """Who names a database in a call means it; an address given so wins as well."""
    address = {"RUMOR_DATABASE_URL": "postgresql://elsewhere/rumor"}
    named = load_settings({"database": "here.sqlite3"}, address)
    assert (str(named.database), named.database_url) == ("here.sqlite3", "")
    other = load_settings({"database": "postgresql://here/rumor"}, address)
    assert other.database_url == "postgresql://here/rumor"
    assert load_settings({"database": None}, address).database_url == address["RUMOR_DATABASE_URL"]


def test_a_file_in_the_environment_wins_over_an_address_in_the_settings_file(
    tmp_path: Path,
) -> None:
    """The environment goes before the file of settings, also between two settings of one thing."""
    file = tmp_path / "settings.toml"
    file.write_text('database_url = "postgresql://elsewhere/rumor"')
    here = load_settings({}, {"RUMOR_DATABASE": "here.sqlite3"}, file)
    assert (str(here.database), here.database_url) == ("here.sqlite3", "")
    assert load_settings({}, {}, file).database_url == "postgresql://elsewhere/rumor"


def test_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    """N-23: a file of settings may begin with the mark that some editors write."""
    file = tmp_path / "rumor.toml"
    file.write_text("\ufeffport = 9000\n", "utf-8")
    assert load_settings({}, {}, file).port == 9000
    file.write_text("\ufeff\ufeffport = 9000\n", "utf-8")
    with pytest.raises(SettingsError):
        load_settings({}, {}, file)
