"""Attacks succeed as often as they should, and never beyond what epsilon allows."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rumor_client.perturbation.randomness import Randomness
from rumor_shared.metric import Metric
from rumor_shared.registry import Registry, registry_of
from rumor_simulations.attacks import people, profiles
from rumor_simulations.attacks.device import Device
from rumor_simulations.attacks.guess import best_guess, guess_success
from rumor_simulations.attacks.outcome import Outcome
from rumor_simulations.attacks.target import Target, target
from rumor_simulations.audit.bounds import rate_low
from rumor_simulations.commands.attack import main
from rumor_simulations.sweep.setting import MECHANISMS, sweep_metric

LETTERS = tuple(f"v{i}" for i in range(6))
MEMORY = {"epsilon_first_report": 1, "epsilon_infinity": 2}
FALSE_ALARM = 1e-6


def registry(**metrics: dict[str, Any]) -> Registry:
    """Return a registry of these metrics."""
    common = {"revision": 1, "owner": "o", "purpose": "p", "expires": date(2099, 1, 1)}
    return registry_of({"metrics": {name: {**common, **m} for name, m in metrics.items()}})


def of(mechanism: str, **fields: Any) -> Target:
    """Return a metric of six values under attack."""
    given = {"mechanism": mechanism, "values": list(LETTERS), **fields}
    declared = registry(answer=given)
    return target(declared, declared.metric("answer"))


def only(outcomes: list[Outcome], x: int) -> Outcome:
    """Return the outcome at x."""
    (one,) = [o for o in outcomes if o.x == x]
    return one


def within_bounds(outcome: Outcome) -> bool:
    """Whether a success is no more than allowed, but for a false-alarm rate of 1e-6."""
    hits = round(outcome.success * outcome.tries)
    return outcome.allowed is None or rate_low(hits, outcome.tries, FALSE_ALARM) <= outcome.allowed


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_one_report_is_guessed_no_more_than_allowed(mechanism: str) -> None:
    """No mechanism lets a guess from one report pass e^eps / (e^eps + k - 1)."""
    metric = sweep_metric(mechanism, "1", LETTERS)
    success = guess_success(metric, LETTERS, 1000, 1, np.random.default_rng(1))
    assert rate_low(round(success * 1000), 1000, FALSE_ALARM) <= best_guess(1, 6)


def test_krr_is_guessed_as_often_as_it_tells_the_truth() -> None:
    """The best guess from a krr report is the report: success p, all that epsilon allows."""
    metric = sweep_metric("krr", "2", LETTERS)
    success = guess_success(metric, LETTERS, 4000, 1, np.random.default_rng(2))
    p = best_guess(2, 6)
    assert abs(success - p) < 5 * math.sqrt(p * (1 - p) / 4000)


def test_more_truth_than_declared_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted fault: a client that keeps the truth too often is guessed beyond what is allowed."""
    keep = Randomness.unless

    def too_often(self: Randomness, numerator: int, own: int, n: int) -> int:
        return keep(self, (numerator + 2**64) // 2, own, n)

    monkeypatch.setattr(Randomness, "unless", too_often)
    metric = sweep_metric("krr", "1", LETTERS)
    success = guess_success(metric, LETTERS, 1000, 1, np.random.default_rng(3))
    assert rate_low(round(success * 1000), 1000, FALSE_ALARM) > best_guess(1, 6)


def test_fresh_noise_averages_out_and_permanent_answers_do_not() -> None:
    """Thirty days of fresh noise give a value away; of a permanent answer no more than one does."""
    rng = np.random.default_rng(4)
    fresh = list(people.averaging(of("oue", epsilon=2), 300, rng, (1, 30)))
    kept = list(people.averaging(of("basic_rappor", **MEMORY), 300, rng, (1, 30)))
    assert only(fresh, 30).success > 0.9
    assert within_bounds(only(kept, 30))
    assert only(kept, 30).allowed == pytest.approx(best_guess(2, 6), abs=1e-5)


def test_lost_permanent_answers_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted fault: a device that draws its permanent answer anew each day is averaged out."""
    answer = Device.answer

    def forgetful(self: Device, metric: Metric, text: str) -> Any:
        self.__init__(self._noise)  # type: ignore[misc]
        return answer(self, metric, text)

    monkeypatch.setattr(Device, "answer", forgetful)
    rng = np.random.default_rng(5)
    (lost,) = people.averaging(of("basic_rappor", **MEMORY), 300, rng, (60,))
    assert not within_bounds(lost)


def test_published_averaging_success() -> None:
    """OUE at epsilon 1, ten values: .84 of values are known after 30 days (formulas, section 8)."""
    ten = [f"v{i}" for i in range(10)]
    (month,) = people.averaging(
        of("oue", epsilon=1, values=ten), 1000, np.random.default_rng(6), (30,)
    )
    assert abs(month.success - 0.84) < 0.005 + 5 * math.sqrt(0.84 * 0.16 / 1000)


def test_lifetime_cap_ends_averaging() -> None:
    """With three reports for life, a year of days is worth no more than three."""
    capped = of("oue", epsilon=1, lifetime_epsilon=Decimal(3))
    assert capped.reports(365) == 3
    curve = list(people.averaging(capped, 200, np.random.default_rng(7), (3, 90)))
    assert only(curve, 3).allowed == only(curve, 90).allowed
    assert within_bounds(only(curve, 90))


@pytest.mark.parametrize("attack", [people.change, people.pools, people.reconstruction])
@pytest.mark.parametrize(
    "under_attack",
    [of("oue", epsilon=1), of("basic_rappor", **MEMORY), of("krr", epsilon=2)],
    ids=lambda t: t.metric.mechanism.name,
)
def test_attacks_stay_within_what_is_allowed(
    attack: Callable[..., Any], under_attack: Target
) -> None:
    """Whatever the attack on one metric, it does no better than its declared epsilon allows."""
    outcomes = list(attack(under_attack, 300, np.random.default_rng(8)))
    assert outcomes
    assert all(within_bounds(outcome) for outcome in outcomes)


def test_changes_of_permanent_answers_show() -> None:
    """That a permanent answer changed is not covered, and seen by whoever holds two days."""
    strong = of("basic_rappor", epsilon_first_report=4, epsilon_infinity=8, max_values=2)
    (outcome,) = people.change(strong, 600, np.random.default_rng(9))
    assert outcome.allowed is None
    assert outcome.success > 0.65


def test_days_are_linked_by_filters_and_not_by_fresh_noise() -> None:
    """A kept cohort and permanent bits find a device among a hundred; fresh noise hardly does."""
    declared = registry(
        site={"mechanism": "rappor", "bits": 64, "cohorts": 32, **MEMORY},
        theme={"mechanism": "krr", "epsilon": 1, "values": list(LETTERS)},
    )
    targets = [target(declared, m) for m in declared.metrics.values()]
    found = {o.metric: o for o in profiles.linking(targets, 300, np.random.default_rng(10))}
    assert found["site"].success > 0.2
    assert found["site"].allowed is None
    assert found["theme"].success < 0.1
    assert within_bounds(found["theme"])


@pytest.mark.parametrize("attack", [profiles.reidentification, profiles.membership])
def test_joint_attacks_stay_within_what_is_allowed(attack: Callable[..., Any]) -> None:
    """More metrics tell more of a person, and no more than their epsilons together."""
    fields = {"mechanism": "krr", "epsilon": 1, "values": list(LETTERS)}
    declared = registry(**{f"m{i}": dict(fields) for i in range(4)})
    targets = [target(declared, m) for m in declared.metrics.values()]
    outcomes = list(attack(targets, 500, np.random.default_rng(11)))
    assert [o.x for o in outcomes] == [1, 2, 3, 4]
    assert outcomes[-1].success > outcomes[0].success
    assert all(within_bounds(outcome) for outcome in outcomes)


def test_command_writes_tables_and_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`rumor attack` prints one object, and leaves a table and a figure of every attack."""
    file = tmp_path / "registry.toml"
    file.write_text(
        '[metrics.theme]\nrevision = 1\nmechanism = "krr"\nepsilon = 1.0\n'
        'values = ["a", "b", "c"]\nowner = "o"\npurpose = "p"\nexpires = 2099-01-01\n'
    )
    out = tmp_path / "out"
    assert main([str(file), "--devices", "100", "--json", "--out", str(out)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {row["attack"] for row in document["attacks"]} >= {"averaging", "linking two days"}
    assert {row["poison"] for row in document["poisoning"]} >= {"maximal gain"}
    for name in ("averaging", "reconstruction", "poisoning", "re_identification"):
        assert (out / f"{name}.png").exists()
        assert (out / f"{name}.svg").exists()
    assert (out / "attacks.csv").exists()


def test_success_is_printed_with_its_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """R-02, S-08: a rate stands between the bounds that chance leaves to it, as does a gain."""
    monkeypatch.setenv("COLUMNS", "140")
    file = tmp_path / "metrics.toml"
    file.write_text(
        '[metrics.m]\nrevision = 1\nmechanism = "krr"\nepsilon = 1.0\nvalues = ["a", "b", "c"]\n'
        'owner = "o"\npurpose = "p"\nexpires = 2999-12-31\n'
    )
    assert main([str(file), "--devices", "100"]) == 0
    printed = capsys.readouterr().out
    (line,) = [line for line in printed.splitlines() if "reconstruction" in line]
    found = re.search(r"([\d.]+)% +(\d+)-(\d+) ", line)
    assert found is not None, line
    success, low, high = map(float, found.groups())
    assert low < success < high
    assert high - low == pytest.approx(2 * 1.96 * (success * (100 - success) / 100) ** 0.5, rel=0.2)
    assert re.search(r"maximal gain +1 +[\d.-]+% ±[\d.]+%", printed)


def test_wrong_registry_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A registry that can't be read ends with 2 and the reason."""
    assert main([str(tmp_path / "absent.toml")]) == 2
    assert "absent.toml" in capsys.readouterr().err
