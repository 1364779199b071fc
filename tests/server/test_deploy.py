"""The samples of `deploy/`: settings that exist, no address written, and closed by default."""

import re
import tomllib
from pathlib import Path

import pytest

from rumor_server.access import Scope, open_scopes
from rumor_server.settings import PREFIX, load_settings, table

DEPLOY = Path(__file__).parents[2] / "deploy"
FILES = sorted(path.name for path in DEPLOY.iterdir() if path.is_file())


@pytest.mark.parametrize("name", FILES)
def test_sets_what_is_a_setting(name: str) -> None:
    """Each RUMOR_ variable of a sample is a setting, and a number is in its range."""
    text = (DEPLOY / name).read_text("utf-8")
    known = {PREFIX + one.upper() for one in table()}
    found = set(re.findall(r"\bRUMOR_[A-Z_]+\b", text))
    assert found <= known


def test_opens_nothing_by_itself() -> None:
    """The samples of settings listen with keys for everything."""
    service = load_settings({}, {}, DEPLOY / "rumor.toml")
    assert open_scopes(service) == set()
    container = (DEPLOY / "Containerfile").read_text("utf-8")
    environment = dict(re.findall(r"(RUMOR_[A-Z_]+)=(\S+)", container))
    assert open_scopes(load_settings({}, environment)) == set()
    assert len(Scope) == 3


def test_proxy_writes_no_address() -> None:
    """No log of the sample proxy holds an address, a query or a user agent; none is passed on."""
    text = (DEPLOY / "nginx.conf").read_text("utf-8")
    bare = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    (form,) = re.findall(r"log_format\s+(\w+)\s+'([^']*)'", bare)
    assert form[0] == "without_addresses"
    assert set(re.findall(r"\$\w+", form[1])) == {
        "$day", "$request_method", "$uri", "$status", "$request_time",
    }  # fmt: skip
    assert re.findall(r"access_log\s+([^;]+);", bare) == ["/dev/stdout without_addresses"]
    # At any lower level nginx adds the caller's address to what it says of a request.
    assert re.findall(r"error_log\s+([^;]+);", bare) == ["stderr emerg"]
    for header in ("X-Forwarded-For", "X-Real-IP", "Forwarded"):
        assert f'proxy_set_header {header} "";' in bare
    uses = re.findall(r"\$(?:binary_)?remote_\w+|\$proxy_add\w+|\$http_\w+", bare)
    assert uses == ["$binary_remote_addr"]


def test_supervisors_wait_for_the_drain() -> None:
    """systemd and compose give a collector longer to end than it takes to drain."""
    drain = load_settings({}, {}).drain_seconds
    unit = (DEPLOY / "rumor.service").read_text("utf-8")
    compose = (DEPLOY / "compose.yaml").read_text("utf-8")
    (stop,) = re.findall(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)
    (grace,) = re.findall(r"stop_grace_period: (\d+)s", compose)
    assert min(int(stop), int(grace)) > drain


def test_documents_every_sample() -> None:
    """Each file of `deploy/` stands in the page of deployment."""
    page = (DEPLOY.parent / "docs" / "deployment.md").read_text("utf-8")
    assert [name for name in FILES if f"`{name}`" not in page and f"/{name}`" not in page] == []
    assert tomllib.loads((DEPLOY / "rumor.toml").read_text("utf-8"))
