"""`rumor query`: ask a collector how common each value of a metric is."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE
from rich.table import Table
from rich.text import Text

from rumor_server.cli.typer_main import console, fail, run
from rumor_server.clock import system_day
from rumor_server.reader.collector_api import QueryFailed, ask, ask_as, ask_periods
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
    ranks: Annotated[
        bool, typer.Option("--ranks", help="Print which values are confirmed above which.")
    ] = False,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Print running shares with bounds that hold on all days, however often you look.",
        ),
    ] = False,
    days: Annotated[
        int | None, typer.Option(min=1, help="The last so many UTC days, today with them.")
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            metavar="previous|FROM..TO",
            help="What changed since the period before, or since the one of these days.",
        ),
    ] = None,
    trend: Annotated[bool, typer.Option("--trend", help="How the shares moved by day.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the collector's JSON answer, whole.")
    ] = False,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print the collector's CSV answer, whole.")
    ] = False,
) -> None:
    """Print a metric's estimates, each with its standard error and 95% interval.

    A * marks values that are present beyond chance, all values of the metric considered; with
    --compare those that changed.
    """
    asked: dict[str, object] = {"from": first, "to": last, "revision": revision, "alpha": alpha}
    chosen = {"comparison": compare, "trend": trend, "ranks": ranks, "watch": watch}
    asks_for = [name for name, wanted in chosen.items() if wanted]
    what = asks_for[0] if asks_for else "estimates"
    try:
        if (as_json and as_csv) or len(asks_for) > 1:
            raise QueryFailed(
                "options: give one of --json and --csv, one of --compare, --trend, --ranks and "
                "--watch"
            )
        if watch and (first or last or days or revision):
            raise QueryFailed(
                "--watch: begins with the first day of the newest revision; leave out --from, "
                "--to, --days and --revision"
            )
        asked |= _period(first, last, days) | _other_period(compare)
        given = {name: value for name, value in asked.items() if value is not None}
        texts = None if candidates is None else read_candidates(candidates)
        if as_csv:
            table = ask_as("text/csv", url, metric, given, texts, key, what=what)
            sys.stdout.write(table.decode().replace("\r\n", "\n"))
            return
        page = (
            ask(url, metric, given, texts, key)
            if what == "estimates"
            else ask_periods(url, metric, what, given, texts, key)
        )
    except (RumorError, OSError) as error:
        raise fail("query", error) from None
    if as_json:
        print(json.dumps(page, ensure_ascii=True))
    elif what == "estimates":
        _show(page, top)
    elif what == "comparison":
        _show_comparison(page, top)
    elif what == "ranks":
        _show_ranks(page, top)
    elif what == "watch":
        _show_watch(page)
    else:
        _show_trend(page)


def _period(first: str | None, last: str | None, days: int | None) -> dict[str, object]:
    if days is None:
        return {}
    if first or last:
        raise QueryFailed("--days: is given beside --from or --to; give one of them")
    today = system_day()
    return {"from": today - timedelta(days=min(days, today.toordinal()) - 1), "to": today}


def _other_period(compare: str | None) -> dict[str, object]:
    if compare in (None, "previous"):
        return {}
    start, dots, end = str(compare).partition("..")
    if not dots:
        raise QueryFailed("--compare: is not a period; write previous or 2026-11-01..2026-11-07")
    return {"compare_from": start, "compare_to": end}


def _show_comparison(page: Mapping[str, Any], top: int | None) -> None:
    out = console()
    out.print(Text(f"{page['metric']}: {page['question']}", "bold"))
    for name in ("before", "after"):
        side = page[name]
        out.print(
            f"{name}: {_reports(side['n'])} from {side['first_day']} to {side['last_day']}"
            + ("" if side["status"] == "ok" else f" ({side['status'].replace('_', ' ')})")
        )
        _show_left_out(side)
    rows = page["rows"]
    if not rows:
        out.print("one of the periods has nothing to compare")
        return
    table = Table(box=SIMPLE)
    table.add_column("value", overflow="fold")
    for heading in ("before", "after", "change", f"{100 * (1 - page['alpha']):g}% interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for row in sorted(rows, key=lambda row: float(row["p_value"]))[:top]:
        table.add_row(
            Text(row["value"]),
            _percent(row["before"]),
            _percent(row["after"]),
            f"{100 * row['difference']:+.2f}",
            f"{100 * row['low']:+.2f} to {100 * row['high']:+.2f}",
            "*" if row["significant"] else "",
        )
    out.print(table)
    changed = len(page["changed"])
    out.print(
        f"* changed beyond chance at {page['alpha']:g}, all values considered"
        if changed
        else f"no value changed beyond chance at {page['alpha']:g}, all values considered"
    )


def _show_trend(page: Mapping[str, Any]) -> None:
    out = console()
    out.print(Text(f"{page['metric']}: {page['question']}", "bold"))
    marks = {mark["first_day"]: mark["revision"] for mark in page["revisions"]}
    table = Table(box=SIMPLE)
    table.add_column("days", no_wrap=True)
    table.add_column("value", overflow="fold")
    for heading in ("reports", "share", f"{100 * (1 - page['alpha']):g}% interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in page["rows"]:
        days = row["first"] if row["first"] == row["last"] else f"{row['first']} to {row['last']}"
        if row["first"] in marks:
            days += f" (revision {marks[row['first']]})"
        known = row["frequency"] is not None
        table.add_row(
            days,
            Text(row["value"]),
            f"{row['n']:,}",
            _percent(row["frequency"]) if known else row["status"].replace("_", " "),
            f"{_percent(row['low'])} to {_percent(row['high'])}" if known else "",
        )
    out.print(table)


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


def _show_ranks(page: Mapping[str, Any], top: int | None) -> None:
    if not _begin(page):
        return
    out = console()
    out.print(f"in %{_of_whom(page)}")
    table = Table(box=SIMPLE)
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("value", overflow="fold")
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("simultaneous interval", justify="right", no_wrap=True)
    for row in page["rows"][:top]:
        bounds = (row["simultaneous_low"], row["simultaneous_high"])
        table.add_row(
            _rank(row),
            Text(row["value"]),
            _percent(row["frequency"]),
            " to ".join(_percent(min(max(bound, 0), 1)) for bound in bounds),
        )
    out.print(table)
    out.print(
        f"all ranks and intervals hold at once at {100 * (1 - page['alpha']):g}%; values that "
        "share ranks are not told apart"
    )


def _show_watch(page: Mapping[str, Any]) -> None:
    if not _begin(page):
        return
    out = console()
    table = Table(box=SIMPLE)
    table.add_column("day", no_wrap=True)
    table.add_column("value", overflow="fold")
    table.add_column("share so far", justify="right", no_wrap=True)
    table.add_column("bounds", justify="right", no_wrap=True)
    for row in page["rows"]:
        bounds = " to ".join(map(_percent, (row["low"], row["high"])))
        table.add_row(row["day"], Text(row["value"]), _percent(row["frequency"]), bounds)
    out.print(f"in %{_of_whom(page)}")
    out.print(table)
    limit = ", in the limit of many reports (asymptotic)" if page["asymptotic"] else ""
    out.print(f"all bounds hold on all days at once at {100 * (1 - page['alpha']):g}%{limit}")


def _rank(row: Mapping[str, Any]) -> str:
    best, worst = row["best_rank"], row["worst_rank"]
    return f"{best}" if best == worst else f"{best} to {worst}"


def _begin(page: Mapping[str, Any]) -> bool:
    """Print what an answer is about; return whether it has rows with numbers."""
    out = console()
    out.print(Text(f"{page['metric']}: {page['question']}", "bold"))
    if page["status"] == "withheld":
        out.print(
            f"withheld: at most {page['missing']} reports are missing to the {page['min_reports']} "
            "that this metric asks for"
        )
        return False
    if page["status"] == "no_data":
        out.print("no report was counted on these days")
        return False
    if page["status"] == "other_revision":
        since = page.get("since")
        began = f"; its first came on {since}" if since else ""
        out.print(f"no report of this metric's present revision on these days{began}")
        _show_left_out(page)
        return False
    out.print(f"{_reports(page['n'])} from {page['first_day']} to {page['last_day']}")
    if page.get("headline"):
        out.print(Text(page["headline"], "bold"))
    _show_left_out(page)
    if not page["rows"]:
        out.print("any text may be recorded here: say what to look for with --candidates")
        return False
    return True


def _show(page: Mapping[str, Any], top: int | None) -> None:
    if not _begin(page):
        return
    out = console()
    rows = page["rows"]
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
    elif not any(row["significant"] for row in rows):
        out.print(f"no value is present beyond chance at {page['alpha']:g}, all considered")
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
