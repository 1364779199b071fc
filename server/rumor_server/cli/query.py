"""`rumor query`: ask a collector how common each value of a metric is."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE
from rich.table import Table
from rich.text import Text

from rumor_server.cli.typer_main import console, fail, run
from rumor_server.reader.collector_api import QueryFailed, ask
from rumor_shared.errors import RumorError
from rumor_shared.text import oddity_of

# Errors fall with the root of the reports: with so few of them an interval holds every share.
_TOO_FEW = 25

# Enough to see what is wrong with a file.
_MOST_ODD = 20
_UNEXPLAINED = {
    "nothing_matches": "as good as no report is of these candidates, and a share above 100% is "
    "noise: are they spelt as devices record them?",
    "values_missing": "that is more than noise: values are missing from the candidates",
    "counted_twice": "that is below 0 by more than noise: candidates share bits, or are too many "
    "for so few reports",
}

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def query(
    metric: Annotated[str, typer.Argument(help="The metric's name.")],
    url: Annotated[
        str, typer.Option(envvar="RUMOR_URL", help="The collector's address.")
    ] = "http://localhost:8000",
    key: Annotated[
        str | None,
        typer.Option(envvar="RUMOR_KEY", help="An analyst key, where the collector asks for one."),
    ] = None,
    first: Annotated[
        str | None, typer.Option("--from", metavar="YYYY-MM-DD", help="The first UTC day.")
    ] = None,
    last: Annotated[
        str | None, typer.Option("--to", metavar="YYYY-MM-DD", help="The last UTC day.")
    ] = None,
    revision: Annotated[int | None, typer.Option(help="This revision alone.")] = None,
    alpha: Annotated[
        float | None, typer.Option(help="1 - coverage of the intervals; 0.05 if not given.")
    ] = None,
    candidates: Annotated[
        Path | None, typer.Option(help="A file of texts to look for, one a line.")
    ] = None,
    top: Annotated[
        int | None, typer.Option(min=1, help="Show so many of the commonest values.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the collector's JSON answer, whole.")
    ] = False,
) -> None:
    """Print a metric's estimates, each with its standard error and 95% interval.

    A * marks values that are present beyond chance, all values of the metric considered.
    """
    asked = {"from": first, "to": last, "revision": revision, "alpha": alpha}
    try:
        texts = None if candidates is None else read_candidates(candidates)
        page = ask(url, metric, {k: v for k, v in asked.items() if v is not None}, texts, key)
    except (RumorError, OSError) as error:
        raise fail("query", error) from None
    if as_json:
        print(json.dumps(page, ensure_ascii=True))
    else:
        _show(page, top)


def read_candidates(file: Path) -> list[str]:
    """Return the lines of a UTF-8 file that are not empty. Raises QueryFailed, OSError.

    A line that may match nothing by the way it is written is told on standard error.
    """
    try:
        lines = file.read_text("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise QueryFailed("candidates: the file is not UTF-8; save it so") from None
    odd = [(number, oddity_of(line)) for number, line in enumerate(lines, start=1) if line]
    for number, what in [one for one in odd if one[1]][:_MOST_ODD]:
        print(
            f"candidates: line {number} {what}: it matches nothing unless devices record it so",
            file=sys.stderr,
        )
    return list(dict.fromkeys(line for line in lines if line))


def _show(page: Mapping[str, Any], top: int | None) -> None:
    out = console()
    out.print(Text(f"{page['metric']}: {page['question']}", "bold"))
    if page["status"] == "withheld":
        out.print(
            f"withheld: at most {page['missing']} reports are missing to the {page['min_reports']} "
            "that this metric asks for"
        )
        return
    if page["status"] == "no_data":
        out.print("no report was counted on these days")
        return
    rows = page["rows"]
    if page["status"] == "other_revision":
        since = page.get("since")
        began = f"; its first came on {since}" if since else ""
        out.print(f"no report of this metric's present revision on these days{began}")
        _show_left_out(page)
        return
    out.print(f"{_reports(page['n'])} from {page['first_day']} to {page['last_day']}")
    _show_left_out(page)
    if not rows:
        out.print("any text may be recorded here: say what to look for with --candidates")
        return
    one = rows[0]
    out.print(f"{one['mechanism']}, epsilon {one['epsilon']:g} a report; in %{_of_whom(page)}")
    if page.get("follows") is not None:
        out.print(
            f"answers of up to {page['follows']} value{'' if page['follows'] == 1 else 's'} a "
            "device are followed; later changes are not seen"
        )
    enough = page.get("reports_for_10_points")
    if enough and page["n"] < enough / _TOO_FEW:
        out.print(
            f"too few to say: {_reports(page['n'])}; from about {enough:,} an interval is within "
            "10 points to each side"
        )
    shown = sorted(rows, key=lambda row: -row["frequency"])[:top]
    out.print(_table(shown, page["alpha"]))
    if any(row["significant"] for row in shown):
        out.print(f"* present beyond chance at {page['alpha']:g}, all values considered")
    if page["unexplained"] is not None:
        out.print(
            f"not explained by these values: {_percent(page['unexplained'])}%, give or take "
            f"{_percent(page['unexplained_std_error'])} (standard error)"
        )
        if page.get("unexplained_means") in _UNEXPLAINED:
            out.print(_UNEXPLAINED[page["unexplained_means"]])


def _interval(row: Mapping[str, Any]) -> tuple[float, float]:
    """Return a row's interval within what a share can be; an older collector tells the raw one."""
    return row.get("possible_low", row["low"]), row.get("possible_high", row["high"])


def _reports(n: int) -> str:
    return f"{n:,} report{'' if n == 1 else 's'}"


def _of_whom(page: Mapping[str, Any]) -> str:
    match page.get("population"):
        case "devices":
            return " of the devices that answered"
        case "reports":
            return " of the reports, of which a device may have made several"
    return ""


def _show_left_out(page: Mapping[str, Any]) -> None:
    for one in page.get("left_out_reports", ()):
        console().print(
            f"left out: {_reports(one['n'])} of revision {one['revision']} from "
            f"{one['first_day']} to {one['last_day']}, since its values differ; "
            f"--revision {one['revision']} shows them"
        )


def _table(rows: list[dict[str, Any]], alpha: float) -> Table:
    table = Table(box=SIMPLE)
    table.add_column("value", overflow="fold")
    for heading in ("share", "std. error", f"{100 * (1 - alpha):g}% interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for row in rows:
        table.add_row(
            Text(row["value"]),
            _percent(row["frequency"]),
            _percent(row["std_error"]),
            " to ".join(map(_percent, _interval(row))),
            "*" if row["significant"] else "",
        )
    return table


def _percent(share: float) -> str:
    return f"{100 * share:.2f}"


def main(argv: list[str]) -> int:
    """Run the command with the words after its name."""
    return run(app, argv, "query")
