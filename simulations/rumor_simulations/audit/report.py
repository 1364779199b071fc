"""What an audit found, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from rumor_shared.epsilon import MICRO
from rumor_simulations.audit.certificate import Certificate
from rumor_simulations.audit.mechanism_audit import ALPHA, FALSE_ALARM, Finding
from rumor_simulations.audit.pipeline import Check


def print_findings(console: Console, findings: Sequence[Finding]) -> None:
    """Print one row a claim: what is declared, what the attack reached, what enumeration proves."""
    table = Table(title="What the installed client gives away", title_justify="left")
    for heading in ("metric", "claim"):
        table.add_column(heading, no_wrap=True)
    for heading in ("declared", "attacked", "reached", "enumerated", "verdict"):
        table.add_column(heading, justify="right")
    for finding in findings:
        table.add_row(
            finding.metric,
            finding.claim,
            f"{finding.declared:g}",
            _interval(finding),
            "" if finding.tightness is None else f"{finding.tightness:.1%}",
            _enumerated(finding.certificate),
            _verdict(finding),
        )
    console.print(table)
    console.print(
        "All are epsilon. `one value` is what all reports of one unchanging value give away. "
        f"Attacked: {max((f.trials for f in findings), default=0):,} devices a value, "
        f"Clopper-Pearson bounds of the worst event, each wrong with at most {ALPHA:g}. "
        f"A claim is called false with a false-alarm rate of at most {FALSE_ALARM:g}. "
        "Enumerated: the exact law, rounded up to a micro-epsilon; * over few values.",
        highlight=False,
    )


def print_certificates(console: Console, findings: Sequence[Finding]) -> None:
    """Print what enumeration proves of each claim, or why nothing was enumerated."""
    for finding in findings:
        certificate = finding.certificate
        name = f"{finding.metric}, {finding.claim}"
        if isinstance(certificate, str):
            said = f"not enumerated: {certificate}"
        else:
            off = float(certificate.deviation)
            law = f"off the declared law by {off:.3g}" if off else "exactly the declared law"
            said = (
                f"epsilon {_epsilon(certificate)}, {law}, over {certificate.values} values "
                f"and {certificate.outputs} outputs"
            )
        console.print(f"{name}: {said}", soft_wrap=True, markup=False, highlight=False)


def print_faults(console: Console, findings: Sequence[Finding]) -> None:
    """Print why each false claim is false."""
    for finding in findings:
        if finding.fault:
            _print_red(console, f"{finding.metric}, {finding.claim}: {finding.fault}")


def print_checks(console: Console, checks: Sequence[Check]) -> None:
    """Print which promises the pipeline keeps, and how the others are broken."""
    for check in checks:
        if check.fault:
            _print_red(console, f"BROKEN {check.promise}: {check.fault}")
        else:
            console.print(f"kept   {check.promise}", highlight=False)


def _print_red(console: Console, text: str) -> None:
    console.print(text, style="red", markup=False, soft_wrap=True)


def as_json(finding: Finding) -> dict[str, Any]:
    """Return a finding as `rumor audit --json` prints it; a ratio is text such as `3/2`."""
    certificate = finding.certificate
    enumerated: dict[str, Any]
    if isinstance(certificate, str):
        enumerated = {"impossible": certificate}
    else:
        enumerated = {
            "ratio": None if certificate.ratio is None else str(certificate.ratio),
            "micro_epsilon": certificate.epsilon,
            "deviation": float(certificate.deviation),
            "outputs": certificate.outputs,
            "values": certificate.values,
            "twin": certificate.scaled,
        }
    return {
        "metric": finding.metric,
        "mechanism": finding.mechanism,
        "claim": finding.claim,
        "declared": finding.declared,
        "trials": finding.trials,
        "low": finding.low,
        "high": finding.high,
        "certificate": enumerated,
        "fault": finding.fault,
    }


def _interval(finding: Finding) -> str:
    if finding.low is None or finding.high is None:
        return ""
    return f"{finding.low:.3f} - {finding.high:.3f}"


def _verdict(finding: Finding) -> str:
    if finding.fault:
        return "[red]FALSE[/red]"
    # Neither enumerated nor attacked: nothing speaks for it.
    return "holds" if finding.trials or finding.proved else "unknown"


def _enumerated(certificate: Certificate | str) -> str:
    if isinstance(certificate, str):
        return "too large"
    return _epsilon(certificate) + ("*" if certificate.scaled else " ")


def _epsilon(certificate: Certificate) -> str:
    return "infinite" if certificate.epsilon is None else f"{certificate.epsilon / MICRO:.6f}"
