"""`rumor audit`: attack the installed client; what it gives away stands beside what it declares."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from rumor_shared.errors import RegistryError
from rumor_shared.metric import Metric
from rumor_shared.os_errors import explain
from rumor_shared.registry import load_registry
from rumor_simulations.audit.mechanism_audit import Finding, audit_metric
from rumor_simulations.audit.pipeline import CHECKS, Check, audit_pipeline
from rumor_simulations.audit.plan import EPSILONS, standard_metrics
from rumor_simulations.audit.report import (
    as_json,
    print_certificates,
    print_checks,
    print_faults,
    print_findings,
)

FULL_TRIALS = 1_000_000
QUICK_TRIALS = 20_000

_aside = Console(stderr=True)
_app = typer.Typer(add_completion=False, rich_markup_mode=None)


def main(argv: list[str]) -> int:
    """Run the audit; 0 if every claim holds, 1 if one is false, 2 for a registry that is wrong."""
    try:
        _app(args=argv, prog_name="rumor audit")
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


@_app.command()
def audit(
    registry: Annotated[
        Path | None,
        typer.Argument(help="Audit these metrics; without it, every mechanism at ε 1, 2 and 4."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help=f"{QUICK_TRIALS:,} devices a value, and ε 1 alone.")
    ] = False,
    trials: Annotated[
        int | None, typer.Option(min=0, help="Devices a value; 0 enumerates only.")
    ] = None,
    processes: Annotated[
        int, typer.Option(min=1, help="Processes that run devices.")
    ] = os.cpu_count() or 1,
    as_document: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False,
) -> None:
    """Attack the installed client mechanism by mechanism, with the worst event of each.

    Small domains are enumerated: every outcome of `record`, held against the declared law. Then
    devices of two values are run, and Clopper-Pearson bounds of what tells them apart stand beside
    the epsilon that is declared. What surrounds the noise is tried as well: where chance comes
    from, days, restarts, a crash, a fork, retries, refusals.
    """
    count = trials if trials is not None else QUICK_TRIALS if quick else FULL_TRIALS
    try:
        metrics = list(_metrics(registry, quick=quick))
    except (RegistryError, OSError) as error:
        said = explain(error) if isinstance(error, OSError) else str(error)
        _aside.print(said, style="red", markup=False, soft_wrap=True)
        raise typer.Exit(2) from None
    findings: list[Finding] = []
    checks: list[Check] = []
    with _pool(processes, count) as pool, Progress(console=_aside) as progress:
        task = progress.add_task("pipeline", total=len(CHECKS) + len(metrics))
        for check in audit_pipeline():
            checks.append(check)
            progress.advance(task)
        for metric in metrics:
            progress.update(task, description=metric.name)
            findings += audit_metric(metric, count, pool=pool)
            progress.advance(task)
    if as_document:
        document = {
            "findings": [as_json(finding) for finding in findings],
            "pipeline": [{"promise": check.promise, "fault": check.fault} for check in checks],
        }
        print(json.dumps(document, allow_nan=False))
    else:
        console = Console()
        print_findings(console, findings)
        print_certificates(console, findings)
        print_checks(console, checks)
        print_faults(console, findings)
    false = any(finding.fault for finding in findings) or any(check.fault for check in checks)
    raise typer.Exit(1 if false else 0)


def _metrics(registry: Path | None, *, quick: bool) -> Iterator[Metric]:
    if registry is not None:
        yield from load_registry(registry).metrics.values()
        return
    for metric in standard_metrics(EPSILONS[:1] if quick else EPSILONS):
        if isinstance(metric, str):
            _aside.print(f"not audited: {metric}", style="yellow", markup=False)
        else:
            yield metric


@contextmanager
def _pool(processes: int, trials: int) -> Iterator[ProcessPoolExecutor | None]:
    if processes == 1 or not trials:
        yield None
        return
    with ProcessPoolExecutor(processes) as pool:
        yield pool
