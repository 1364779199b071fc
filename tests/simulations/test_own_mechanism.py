"""A mechanism of somebody else's package goes all the way that the built-in ones go."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.client.perturbation.mechanisms.contract import MechanismContract, letters, metric_with
from tests.harness import own_mechanism
from tests.harness.own_mechanism import NAME
from tests.server.statistics.mechanisms.statistics_contract import (
    ONE,
    Counts,
    StatisticsContract,
    metric_of,
)
from uniform_mix.parameters import UniformMix

from rumor_client.perturbation.mechanisms import table as device
from rumor_client.testing import FakeCollector, client_for
from rumor_server.statistics.mechanisms import estimate_metric, group, tally_of
from rumor_server.statistics.mechanisms import table as collector
from rumor_server.statistics.tally import Tally
from rumor_shared.errors import IncompleteMechanism, RegistryError
from rumor_shared.mechanisms import packages
from rumor_shared.mechanisms import table as shared
from rumor_shared.metric import Metric
from rumor_simulations.attacks.campaign import is_known
from rumor_simulations.audit.mechanism_audit import audit_metric
from rumor_simulations.mechanisms import table as simulations

VALUES = ["v0", "v1", "v2", "v3"]
REGISTRY = f"""
[metrics.colour]
revision = 1
mechanism = "{NAME}"
epsilon = 2.0
values = ["red", "green", "blue"]
owner = "tests@example.org"
purpose = "tests"
expires = 2999-12-31
"""


@pytest.fixture(autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The package is there, by its metadata on the path."""
    with own_mechanism.installed(tmp_path_factory.mktemp("site")):
        yield


class TestOnTheDevice(MechanismContract):
    """What every mechanism promises on the device."""

    def small_metrics(self) -> list[tuple[Metric, list[str], bool]]:
        """Domains from two values to five."""
        return [
            (metric_with(NAME, epsilon=epsilon, values=letters(k)), letters(k), True)
            for k in (2, 5)
            for epsilon in (0.5, 2)
        ]

    def wide_metric(self) -> Metric:
        """One byte, in full."""
        return metric_with(NAME, epsilon=1, values=letters(256))


class TestInTheCollector(StatisticsContract):
    """What every estimator promises."""

    @property
    def metric(self) -> Metric:
        """A small metric."""
        return metric_of(NAME, epsilon=2.0, values=VALUES)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """From the integer alone."""
        mixed = Fraction(ONE - self.true, 4 * ONE)
        return Fraction(self.true, ONE) + mixed, mixed

    @property
    def true(self) -> int:
        """The probability of the first kind over 2**64."""
        return UniformMix.of(self.metric.mechanism).true

    def draw(self, have: int, n: int, runs: int, rng: np.random.Generator) -> Counts:
        """Draw who tells the truth, then what all others say."""
        kept = rng.binomial(n, self.true / ONE, runs)
        own = rng.hypergeometric(have, n - have, kept)
        counts: Counts = own + rng.binomial(n - kept, 1 / 4)
        return counts

    def payload(self, rng: np.random.Generator) -> bytes:
        """Any payload that passes the check."""
        return bytes([int(rng.integers(4))])


def test_recorded_reports_come_back_as_estimates() -> None:
    """A registry names it, a client records by it, the collector estimates and sums by it."""
    taken = FakeCollector()
    registry = REGISTRY.encode()
    with client_for(registry, transport=taken) as client:
        metric = client.registry.metric("colour")
        assert client.record("colour", "red").recorded
        (seen,) = client.view()
        assert "random" in seen.meaning
        payload = client.waiting()[0].report.payload
    counts = tally_of(metric, [payload] * 100)
    assert counts.sum() == 100
    tally = Tally(np.array([100]), counts[None, :])
    assert estimate_metric(metric, tally).frequency.sum() == pytest.approx(1)
    assert group(metric, tally, {"some": ["red", "blue"]}).values == ("some",)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [["audit", "--trials", "2000"], ["attack", "--devices", "100"]],
    ids=["audit", "attack"],
)
def test_audit_and_attack_take_it(tmp_path: Path, words: list[str]) -> None:
    """Both commands judge a registry that names it, with nothing said of it in advance."""
    file = tmp_path / "metrics.toml"
    file.write_text(REGISTRY)
    path = os.pathsep.join(own_mechanism.paths(tmp_path / "site"))
    done = subprocess.run(
        [Path(sys.executable).with_name("rumor"), words[0], file, *words[1:], "--json"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    if words[0] == "audit":
        assert [found["fault"] for found in said["findings"]] == [None]
        return
    assert {found["mechanism"] for found in said["attacks"] if found["mechanism"]} == {NAME}
    assert len(said["poisoning"]) == 4


def test_listing_names_it_last() -> None:
    """`installed_names` has those of packages behind the built-in ones."""
    assert shared.installed_names() == (*shared.BUILT_IN, NAME)


def test_every_room_has_the_same_table() -> None:
    """A mechanism that is built into one room is built into all, in one order."""
    names = list(shared.BUILT_IN)
    for table in (device.BUILT_IN, collector.BUILT_IN, simulations.BUILT_IN):
        assert list(table) == names


@pytest.mark.parametrize("room", ["parameters", "perturber", "estimator", "population_model"])
def test_part_that_is_no_part_is_refused(tmp_path: Path, room: str) -> None:
    """A package whose function returns something else is refused by the room that asks."""
    tmp_path.joinpath("hollow_mix.py").write_text(
        "\n".join(
            f"def {name}():\n    return dict"
            if name == room
            else f"from uniform_mix.parts import {name}"
            for name in ("parameters", "perturber", "estimator", "population_model")
        )
    )
    ask = {
        "parameters": shared.mechanism_class,
        "perturber": device.perturber_class,
        "estimator": collector.estimator_class,
        "population_model": simulations.population_model_class,
    }
    with own_mechanism.installed(tmp_path, "hollow_mix"):
        with pytest.raises(IncompleteMechanism, match=room):
            ask[room](NAME)
        for other in ask.keys() - {room}:
            assert ask[other](NAME).__name__.startswith("UniformMix")
    sys.modules.pop("hollow_mix")


def test_client_without_a_perturber_is_not_made(tmp_path: Path) -> None:
    """K8: what a package lacks is found when the client is made, not by the first report."""
    tmp_path.joinpath("half_mix.py").write_text(
        "from uniform_mix.parts import parameters\n\ndef perturber():\n    return None\n"
    )
    with (
        own_mechanism.installed(tmp_path, "half_mix"),
        pytest.raises(IncompleteMechanism, match="perturber"),
    ):
        client_for(REGISTRY.encode())
    sys.modules.pop("half_mix")


class Remembering(UniformMix):
    """It says that a permanent answer stands between value and reports."""

    @property
    def memoised(self) -> bool:
        """Yes."""
        return True


def test_memory_that_no_part_has_is_a_fault() -> None:
    """A mechanism that claims permanent answers, and has no part for them, fails the audit."""
    metric = metric_with(NAME, epsilon=1, values=letters(3))
    mechanism = UniformMix.of(metric.mechanism)
    claiming = replace(
        metric, mechanism=Remembering(mechanism.name, mechanism.values, mechanism.true)
    )
    assert [found.fault is not None for found in audit_metric(claiming, 0)] == [True, True]
    assert not is_known(claiming)
    assert is_known(metric)


def test_imports_of_the_tables_can_be_followed() -> None:
    """N-05: each built-in part is imported by its full name, so that freezers find it."""
    for table in (shared, device, collector, simulations):
        source = inspect.getsource(table)
        for made in table.BUILT_IN.values():
            part = made()
            assert f"from {part.__module__} import {part.__name__}\n" in source


def test_metric_of_another_mechanism_is_refused() -> None:
    """A part takes its own mechanism's metrics alone."""
    with pytest.raises(TypeError, match="UniformMix"):
        device.perturber_class(NAME)(metric_with("krr", epsilon=1, values=letters(3)))


def test_built_in_names_are_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package can't take the name of a built-in mechanism, and none is looked for."""
    monkeypatch.setattr(packages, "_entry_points", lambda: pytest.fail("looked for packages"))
    assert metric_with("krr", epsilon=1, values=letters(3)).mechanism.name == "krr"


def test_name_of_no_package_is_refused() -> None:
    """A registry that names what nobody brings is told so."""
    with pytest.raises(RegistryError, match="not a known mechanism"):
        metric_with("nobodys", epsilon=1, values=letters(3))
