"""The samples of `deploy/`: settings that exist, no address written, and closed by default."""

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from rumor_server.access import Scope, open_scopes
from rumor_server.settings import PREFIX, load_settings, table
from rumor_shared.registry import parse_registry

DEPLOY = Path(__file__).parents[2] / "deploy"
FILES = sorted(path.relative_to(DEPLOY).as_posix() for path in DEPLOY.rglob("*") if path.is_file())
REFERENCE = DEPLOY.parent / "docs" / "reference" / "prometheus.md"
OUTAGES = DEPLOY.parent / "docs" / "outages.md"
# The oldest that is still supported somewhere, and the newest.
KUBERNETES = ("1.31.0", "1.34.0")


@pytest.mark.parametrize("name", FILES)
def test_sets_what_is_a_setting(name: str) -> None:
    """Each RUMOR_ variable of a sample is a setting, and a number is in its range."""
    text = (DEPLOY / name).read_text("utf-8")
    known = {PREFIX + one.upper() for one in table()}
    found = set(re.findall(r"\bRUMOR_[A-Z_]+\b", text))
    assert found <= known | {"RUMOR_SETTINGS"}


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


def manifests() -> list[dict[str, Any]]:
    """The resources of the Kubernetes manifest."""
    return list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8")))


@pytest.mark.parametrize("version", KUBERNETES)
def test_manifest_is_one_of_kubernetes(version: str) -> None:
    """N-11: each resource has the fields that its kind has, and no other."""
    for resource in manifests():
        kubernetes_validate.validate(resource, version, strict=True)


@pytest.mark.parametrize(
    ("kind", "place", "name"),
    [
        ("Deployment", ("spec", "template", "spec"), "enableServiceLink"),
        ("Deployment", ("spec",), "replica"),
        ("Service", ("spec", "ports", 0), "target"),
    ],
)
def test_sees_a_field_that_no_kind_has(kind: str, place: tuple[Any, ...], name: str) -> None:
    """Planted: a field that is nearly right is refused; without strictness it passes."""
    (resource,) = [one for one in manifests() if one["kind"] == kind]
    inside = resource
    for step in place:
        inside = inside[step]
    inside[name] = "false"
    kubernetes_validate.validate(resource, KUBERNETES[0], strict=False)
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(resource, KUBERNETES[0], strict=True)


def test_pods_get_no_variable_of_a_service() -> None:
    """N-11: no pod hears RUMOR_PORT=tcp://..., runs as root, or ends before it has drained."""
    pods = [
        one["spec"]["template"]["spec"]
        for one in manifests()
        if one["kind"] in {"Deployment", "Job"}
    ]
    assert len(pods) == 2
    for pod in pods:
        assert pod["enableServiceLinks"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert all(one["securityContext"]["readOnlyRootFilesystem"] for one in pod["containers"])
    (collector,) = [pod for pod in pods if "terminationGracePeriodSeconds" in pod]
    assert collector["terminationGracePeriodSeconds"] > load_settings({}, {}).drain_seconds + 5
    probes = {
        name: collector["containers"][0][f"{name}Probe"] for name in ("readiness", "liveness")
    }
    assert {name: one["httpGet"]["path"] for name, one in probes.items()} == {
        "readiness": "/readyz",
        "liveness": "/healthz",
    }


def test_manifest_holds_sound_files() -> None:
    """The registry and the settings within the manifest are ones, and everything wants a key."""
    (files,) = [one["data"] for one in manifests() if one["kind"] == "ConfigMap"]
    assert parse_registry(files["metrics.toml"].encode()).warnings() == ()
    assert tomllib.loads(files["rumor.toml"])["read_access"] == "key"


def expressions() -> Iterator[tuple[str, str]]:
    """Each expression of alerts and dashboard, with where it stands."""
    alerts = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text("utf-8"))
    for rule in (rule for group in alerts["groups"] for rule in group["rules"]):
        yield rule["alert"], rule["expr"]
    board = json.loads((DEPLOY / "grafana.json").read_text("utf-8"))
    for panel in board["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def test_alerts_and_dashboard_ask_for_what_there_is() -> None:
    """O-06: each name that an alert or a panel asks for is one that a collector sends."""
    known = set(re.findall(r"^\| `(rumor_\w+)`", REFERENCE.read_text("utf-8"), re.MULTILINE))
    known |= {f"rumor_commit_seconds_{part}" for part in ("bucket", "sum", "count")}
    asked = {
        (where, name)
        for where, expression in expressions()
        for name in re.findall(r"\brumor_\w+", expression)
    }
    assert len(asked) > 20
    assert {(where, name) for where, name in asked if name not in known} == set()
    for where, expression in expressions():
        for opening, closing in ("()", "[]", "{}"):
            assert expression.count(opening) == expression.count(closing), where


def test_each_alert_leads_to_a_section() -> None:
    """Each alert says how bad it is, what is the matter, and which section of the page helps."""
    alerts = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text("utf-8"))
    headings = re.findall(r"^## (.*)$", OUTAGES.read_text("utf-8"), re.MULTILINE)
    anchors = {f"outages.md#{heading.lower().replace(' ', '-')}" for heading in headings}
    rules = [rule for group in alerts["groups"] for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules) >= 10
    for rule in rules:
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["runbook"] in anchors
        assert rule["for"]


def test_dashboard_is_one() -> None:
    """Panels have numbers of their own, places that don't overlap, and the chosen data source."""
    board = json.loads((DEPLOY / "grafana.json").read_text("utf-8"))
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, panel["gridPos"]["y"])
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
    assert {panel["datasource"]["uid"] for panel in panels} == {"${datasource}"}


def test_prometheus_takes_the_files() -> None:
    """promtool checks the rules and the configuration, where it is installed."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed")
    folder = DEPLOY / "prometheus"
    for words in (
        ("check", "rules", folder / "alerts.yaml"),
        ("check", "config", "--syntax-only", folder / "scrape.yaml"),
    ):
        done = subprocess.run([promtool, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_systemd_takes_the_units() -> None:
    """systemd finds nothing wrong with the units but that the program is not installed here."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd is not installed")
    units = [DEPLOY / name for name in FILES if name.endswith((".service", ".timer"))]
    assert len(units) == 3
    done = subprocess.run(
        [analyze, "verify", *units], capture_output=True, text=True, check=False, timeout=60
    )
    wrong = [
        line
        for line in done.stderr.splitlines()
        if any(unit.name in line for unit in units) and "is not executable" not in line
    ]
    assert wrong == []


def test_documents_every_sample() -> None:
    """Each file of `deploy/` stands in the page of deployment."""
    page = (DEPLOY.parent / "docs" / "deployment.md").read_text("utf-8")
    assert [name for name in FILES if f"`{name}`" not in page and f"/{name}`" not in page] == []
    assert tomllib.loads((DEPLOY / "rumor.toml").read_text("utf-8"))
