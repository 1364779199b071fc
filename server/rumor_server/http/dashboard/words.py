"""Sentences of the pages: a metric's state, its activity, and what no candidate explains."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from rumor_server.http.dashboard.formats import count, day, period, plural, short_day
from rumor_server.queries.activity import ACTIVITY_DAYS, Activity, State
from rumor_server.queries.cache import Measured
from rumor_server.queries.precision import Unexplained, unexplained_means
from rumor_server.queries.question import LeftOut, Population
from rumor_shared.metric import Metric


class StateWords(NamedTuple):
    """A state: `kind` is the template's colour, then a word and a sentence."""

    kind: State
    word: str
    sentence: str


def state_words(
    state: State, metric: Metric, reports: int, left_out: Sequence[LeftOut]
) -> StateWords:
    """Return what a page says of the state of a metric with `reports` counted reports."""
    match state:
        case State.WITHDRAWN:
            word = "Withdrawn"
            sentence = "The registry no longer asks this; what was counted is still explained."
        case State.EXPIRED:
            word = "Expired"
            sentence = f"Its last day was {day(metric.expires)}; reports of later days are refused."
        case State.WAITING:
            word = "No reports yet"
            sentence = "It is being asked; no report was counted yet."
            if left_out:
                sentence = (
                    f"Revision {metric.revision} is being asked; no report of it was counted yet. "
                    f"{left_out_words(left_out)}"
                )
        case State.WITHHELD:
            word = "Withheld"
            sentence = (
                f"At most {plural(metric.min_reports - reports, 'report')} of "
                f"{metric.min_reports:,} are missing before anything is shown."
            )
        case State.COLLECTING:
            word = "Collecting"
            sentence = f"Reports are taken until {day(metric.expires)}."
    return StateWords(state, word, sentence)


def left_out_words(left_out: Sequence[LeftOut]) -> str:
    """Return which reports an answer leaves out, and why; empty where there are none."""
    if not left_out:
        return ""
    parts = [
        f"{plural(one.n, 'report')} of revision {one.revision} "
        f"({period(one.first_day, one.last_day)})"
        for one in left_out
    ]
    are = "is" if sum(one.n for one in left_out) == 1 else "are"
    return (
        f"{' and '.join(parts)} {are} left out: the values of the question changed, so they can't "
        "be added. Choose that revision in the form to see them."
    )


def follows_words(metric: Metric) -> str:
    """Return what a metric can't see of devices that change their answers; empty if all is seen."""
    if not metric.mechanism.memoised:
        return ""
    values = plural(metric.mechanism.max_values, "value")
    return (
        f"Answers of up to {values} a device are followed. A device that changes its answer more "
        "often goes on to answer as before, so such a change is not seen here."
    )


def population_words(population: Population) -> str:
    """Return what a page's shares are shares of."""
    if population is Population.DEVICES:
        return "Shares of the devices that answered"
    return "Shares of the reports, of which a device may have made several"


def devices_words(activity: Activity) -> str:
    """Return of how many devices today's reports can be."""
    least, most = activity.devices
    return count(most) if least == most else f"{count(least)} to {count(most)}"


def activity_words(activity: Activity) -> str:
    """Return the sparkline in a sentence."""
    reports, best = activity.reports, max(activity.reports)
    if not best:
        return f"Reports of the last {ACTIVITY_DAYS} days: none"
    busiest = activity.first + timedelta(days=reports.index(best))
    return (
        f"Reports of the last {ACTIVITY_DAYS} days: {count(sum(reports))}, at most "
        f"{count(best)} a day (on {short_day(busiest)}), {count(reports[-1])} today"
    )


def sparkline_bars(reports: Sequence[int]) -> tuple[tuple[float, float, float], ...]:
    """Return x, width and height in percent of the sparkline of each day that has reports."""
    step, best = 100 / len(reports), max(reports)
    return tuple(
        (round(i * step, 2), round(step * 0.72, 2), max(round(number / best * 100, 1), 4.0))
        for i, number in enumerate(reports)
        if number
    )


def unexplained_words(measured: Measured) -> str:
    """Return what the share that no candidate explains means for this list."""
    match unexplained_means(measured):
        case Unexplained.NOTHING_MATCHES:
            return (
                "As good as no report is of a candidate on this list; a share above 100% can't be, "
                "what is beyond it is noise. Are they spelt as devices record them?"
            )
        case Unexplained.VALUES_MISSING:
            return (
                "That is more than noise: values are missing from the list. Bring a longer one to "
                "learn which."
            )
        case Unexplained.COUNTED_TWICE:
            return (
                "That is below 0 by more than noise: candidates share bits and are counted twice, "
                "or the list is too long for so few reports."
            )
        case Unexplained.WITHIN_NOISE:
            return "That is within the noise: the list may well hold every value there is."
        case None:
            return ""
