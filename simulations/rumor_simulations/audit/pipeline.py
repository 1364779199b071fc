"""Audit the pipeline: what a device does over days, restarts, crashes, retries and refusals.

Each check runs the installed client on a file of its own and either passes or tells what is wrong.
`maker` is the client's class, or one with a fault, named `module:attribute` so that it can be made
in another process.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rumor_client import RecordStatus
from rumor_shared.errors import InvalidValue
from rumor_simulations.audit.device_bench import (
    FRESH,
    OPEN,
    PERMANENT,
    VALUES,
    Bench,
    bench_registry,
    payload_of_last,
)
from rumor_simulations.audit.probe import INSTALLED, MADE, named_maker, run_probe
from rumor_simulations.audit.source import draws_are_exact, draws_decide

DAYS = 10
# Two of one process and one of the next.
TRIES = 3
# Longer than a batch header, shorter and longer than each other.
TEXTS = ("", "a", "é" * 300, "z" * 4096)


@dataclass(frozen=True)
class Check:
    """One promise of the pipeline; `fault` says how it is broken, None if it is kept."""

    promise: str
    fault: str | None


def audit_pipeline(maker: str = INSTALLED) -> Iterator[Check]:
    """Yield the result of every check."""
    for promise, check in CHECKS.items():
        with tempfile.TemporaryDirectory(prefix="rumor-audit-") as folder:
            yield Check(promise, _fault(check, Path(folder), maker))


def _fault(check: Callable[[Path, str], str | None], folder: Path, maker: str) -> str | None:
    try:
        return check(folder, maker)
    except Exception as error:
        return f"the client can't be tried: it raised {type(error).__name__}"


def _permanent(folder: Path, maker: str) -> str | None:
    """Report one value every day from a client that is opened anew, then another and it again."""
    bench = Bench(folder, named_maker(maker))
    seen = set()
    for _ in range(DAYS):
        with bench.client() as client:
            client.record(PERMANENT, VALUES[0])
            client.record(PERMANENT, VALUES[0])
            seen |= {w.report.payload for w in client.waiting()}
        bench.next_day()
    if len(seen) > 1:
        return f"{DAYS} days of one value show {len(seen)} permanent answers"
    return None


def _capped(folder: Path, maker: str) -> str | None:
    """With `max_values` = 1, a second value must answer as the first did."""
    with Bench(folder, named_maker(maker)).client() as client:
        for value in VALUES[:5]:
            client.record(PERMANENT, value)
        seen = {w.report.payload for w in client.waiting()}
        spent = client.status().spent_life
    infinity = bench_registry().metric(PERMANENT).mechanism.epsilon_infinity
    if len(seen) > 1:
        return f"five values show {len(seen)} permanent answers where one is paid for"
    if spent != infinity:
        return f"one permanent answer costs {infinity} micro-epsilon, and {spent} is charged"
    return None


def _fresh(folder: Path, maker: str) -> str | None:
    """Two reports of one value must not share their noise: 64 bits agree by chance with 1e-9."""
    with Bench(folder, named_maker(maker)).client() as client:
        payloads = []
        for _ in range(2):
            client.record(FRESH, VALUES[0])
            payloads.append(payload_of_last(client))
    return "two reports of one value carry the same noise" if len(set(payloads)) == 1 else None


def _fork(folder: Path, maker: str) -> str | None:
    """Parent and child report one value after a fork."""
    if not hasattr(os, "fork"):
        return None
    child, parent = run_probe("fork", folder, maker)
    return "parent and child report the same noise after a fork" if child == parent else None


def _source(folder: Path, maker: str) -> str | None:
    """The operating system's bytes make the reports, in this process as in two others."""
    wrong = draws_decide(named_maker(maker))
    if wrong:
        return wrong
    first, second = (run_probe("source", folder, maker) for _ in range(2))
    if first != second:
        return "something else than the operating system's randomness decides a report"
    if len(set(first)) < len(first):
        return "a report is the same whatever the operating system's randomness is"
    return None


def _draws(folder: Path, maker: str) -> str | None:
    """Each draw follows its bytes, outcome by outcome."""
    return draws_are_exact()


def _crash(folder: Path, maker: str) -> str | None:
    """A process that dies after `record` returned has debited what it stored, and stored it."""
    run_probe("crash", folder, maker)
    with Bench(folder, named_maker(maker)).client() as client:
        waiting, spent = len(client.waiting()), client.status().spent_today
    cost = bench_registry().metric(FRESH).mechanism.epsilon_report
    if waiting != MADE:
        return f"of {MADE} reports that were acknowledged {waiting} survive a crash"
    if spent != MADE * cost:
        return f"{waiting} reports wait and {spent} of {waiting * cost} micro-epsilon is debited"
    return None


def _retry(folder: Path, maker: str) -> str | None:
    """What was not answered is sent again byte for byte, also by the next process."""
    bench = Bench(folder, named_maker(maker))
    with bench.client() as client:
        client.record(FRESH, VALUES[0])
        client.record(OPEN, "a")
        client.flush()
        client.flush()
    with bench.client() as client:
        client.flush()
    if len(bench.bodies) != TRIES:
        return f"of {TRIES} tries {len(bench.bodies)} sent what was not answered"
    return "a retry sends other bytes" if len(set(bench.bodies)) > 1 else None


def _refusals(folder: Path, maker: str) -> str | None:
    """The same calls are refused whatever their values, and a refusal stores and spends nothing."""
    heard = []
    for name, values in (("same", VALUES[:1] * 6), ("others", VALUES[:6])):
        (folder / name).mkdir()
        with Bench(folder / name, named_maker(maker)).client() as client:
            results = [client.record(FRESH, value) for value in values]
            spent, waiting = client.status().spent_today, len(client.waiting())
        heard.append(([r.status for r in results], spent, waiting))
    if heard[0] != heard[1]:
        return "whether a report is made, or what it costs, depends on the value"
    statuses, spent, waiting = heard[0]
    cost = bench_registry().metric(FRESH).mechanism.epsilon_report
    made = statuses.count(RecordStatus.RECORDED)
    if (made, waiting, spent) != (3, 3, 3 * cost):
        return f"a cap of three reports let {made} pass, stores {waiting} and debits {spent}"
    return None


def _lengths(folder: Path, maker: str) -> str | None:
    """A message has one length and one report whatever text is recorded."""
    sizes = set()
    for number, text in enumerate(TEXTS):
        (folder / str(number)).mkdir()
        bench = Bench(folder / str(number), named_maker(maker))
        with bench.client() as client:
            client.record(OPEN, text)
            payload = payload_of_last(client)
            # A cohort is a number in JSON, drawn without regard to the text: its digits vary.
            cohort = str(client.waiting()[-1].report.cohort)
            client.flush()
        sizes.add((len(bench.bodies[-1]) - len(cohort), len(payload), len(bench.bodies)))
    return "the length or the number of messages depends on the text" if len(sizes) > 1 else None


def _outside(folder: Path, maker: str) -> str | None:
    """A value outside a domain without `other` is refused before anything is drawn or spent."""
    bench = Bench(folder, named_maker(maker))
    with bench.client() as client:
        before = bench.draws
        try:
            client.record(FRESH, "elsewhere")
        except InvalidValue as error:
            if "elsewhere" in str(error):
                return "the refusal repeats the value"
        else:
            return "a value outside the domain is taken"
        if bench.draws != before or client.status().spent_today or client.waiting():
            return "a value outside the domain draws noise, spends or is stored"
    return None


def _consent(folder: Path, maker: str) -> str | None:
    """Without consent nothing is drawn, spent, stored or sent."""
    bench = Bench(folder, named_maker(maker))
    with bench.client(consent=False) as client:
        status = client.record(FRESH, VALUES[0]).status
        client.flush()
        left = client.waiting() or client.status().spent_life
    if status is not RecordStatus.NO_CONSENT or bench.draws or bench.bodies or left:
        return "something is done without consent"
    return None


CHECKS: dict[str, Callable[[Path, str], str | None]] = {
    "a permanent answer outlives restarts": _permanent,
    "values beyond the cap answer from the last slot": _capped,
    "each report has noise of its own": _fresh,
    "the operating system's randomness alone decides a report": _source,
    "each draw has its exact probability": _draws,
    "a fork repeats no noise": _fork,
    "a crash loses neither debit nor report": _crash,
    "a retry sends the same bytes": _retry,
    "refusals do not depend on values": _refusals,
    "messages have one length": _lengths,
    "values outside the domain are refused undrawn": _outside,
    "nothing happens without consent": _consent,
}
