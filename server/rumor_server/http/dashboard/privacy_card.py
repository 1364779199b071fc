"""The privacy card: what a metric costs who answers, in words that need no mathematics."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rumor_server.http.dashboard.formats import certainty, count, day, epsilon_text, factor, plural
from rumor_server.queries.privacy import Costs, costs_of
from rumor_server.queries.question import Question
from rumor_shared.epsilon import MICRO
from rumor_shared.metric import Metric
from rumor_shared.registry import Registry

_YEAR = 365
# One in a hundred: a share that people can picture.
_FAKES = 0.01


@dataclass(frozen=True)
class Cost:
    """What some reports can reveal. `epsilon` is None where nothing bounds it."""

    scope: str
    epsilon: str | None
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Topic:
    """A heading of the card and what is under it."""

    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class PrivacyCard:
    """The whole card of one metric."""

    costs: tuple[Cost, ...]
    topics: tuple[Topic, ...]


def privacy_card(question: Question, registry: Registry, busiest: int) -> PrivacyCard:
    """Return the card of a metric's newest revision; `busiest` is its best recent day's reports."""
    metric = question.newest
    costs = costs_of(metric, registry, _FAKES)
    return PrivacyCard(
        costs=(_report(metric), _a_day(costs, registry), _life(metric, costs)),
        topics=(
            Topic("What the server knows", _known(metric, costs)),
            Topic("What it can't know", _unknown(metric)),
            Topic("Who answers", _who(metric, costs, busiest)),
            Topic("What is dropped, and why", _dropped(question, registry)),
        ),
    )


def _report(metric: Metric) -> Cost:
    epsilon = metric.mechanism.epsilon_report / MICRO
    return Cost(
        "One report",
        epsilon_text(epsilon),
        (
            f"Seen alone, it multiplies anyone's odds for one answer against another by at most "
            f"{factor(epsilon)}.",
            f"Who held two answers to be equally likely can be at most {certainty(epsilon)}% sure "
            "afterwards.",
        ),
    )


def _a_day(costs: Costs, registry: Registry) -> Cost:
    epsilon = costs.a_day / MICRO
    together = registry.daily_epsilon / MICRO
    return Cost(
        "A day",
        epsilon_text(epsilon),
        (
            "A device makes one report of this metric a day at most."
            if costs.reports_a_day == 1
            else f"A device makes at most {plural(costs.reports_a_day, 'report')} of this metric a "
            f"day: together they multiply the odds by at most {factor(epsilon)}.",
            f"All metrics together cost at most {epsilon_text(together)} a day. The device keeps "
            "this budget, and the server checks it again.",
        ),
    )


def _life(metric: Metric, costs: Costs) -> Cost:
    if costs.life is None:
        return Cost(
            "For life",
            None,
            (
                "Nothing bounds it: the budget renews every day and each report has fresh noise, "
                "so an answer that never changes comes through with time.",
                "A device that reports all it may has spent up to "
                f"{epsilon_text(_YEAR * costs.a_day / MICRO)} in a year.",
            ),
        )
    total, mechanism = costs.life / MICRO, metric.mechanism
    if mechanism.epsilon_infinity is None:
        stops = f"After that a device stops answering: odds times {factor(total)} at most."
        return Cost("For life", epsilon_text(total), (stops,))
    each = mechanism.epsilon_infinity / MICRO
    return Cost(
        "For life",
        epsilon_text(total),
        (
            "A device answers from one permanent answer for each value, so repeating an answer "
            f"for ever costs at most {epsilon_text(each)}: odds times {factor(each)}.",
            f"It draws permanent answers for at most {plural(mechanism.max_values, 'value')}. "
            "Whether and when an answer changed is not hidden.",
        ),
    )


def _known(metric: Metric, costs: Costs) -> tuple[str, ...]:
    mechanism = metric.mechanism
    sentences = [
        "That a device answered, on which day, and its noisy report, while it adds that report up. "
        "It keeps the sums and no report.",
        "A pseudonym that is new every day, kept only as a keyed hash until the day closes. No "
        "address is stored.",
    ]
    if mechanism.memoised and mechanism.cohorts > 1:
        sentences.append(
            f"A group of devices, one of {count(mechanism.cohorts)}, which a device keeps: "
            f"{math.log2(mechanism.cohorts):g} bits of identity."
        )
    elif mechanism.cohorts > 1:
        sentences.append("A hash function that is drawn anew for each report and says nothing.")
    bits = costs.linking_bits
    if bits:
        sentences.append(
            f"Someone who sees single reports of two days could link them: permanent answers and "
            f"groups share about {bits:.1f} bits, enough to single out one device in about "
            f"{count(round(2**bits))}."
        )
    return tuple(sentences)


def _unknown(metric: Metric) -> tuple[str, ...]:
    return (
        "Any device's true answer. Noise is added on the device, by chance from its operating "
        "system, before anything is sent; nobody has the means to take it off again.",
        "More than the figures above allow, whatever else one knows and however much one computes.",
        "That is a promise about answers. That an answer was given is not hidden.",
    )


def _who(metric: Metric, costs: Costs, busiest: int) -> tuple[str, ...]:
    sentences = [
        "Only devices whose owner agreed. They are no random sample: estimates and intervals speak "
        "of those who answered, and no statistics can mend that.",
    ]
    if metric.expected_devices and busiest:
        share = min(busiest / metric.expected_devices, 1.0)
        low, high = share * 0.3, share * 0.3 + 1 - share
        sentences.append(
            f"{count(metric.expected_devices)} devices are expected and the busiest recent day has "
            f"{plural(busiest, 'report')} ({share * 100:.3g}%). If that is who takes part, a share "
            f"of 30% among them can mean anything from {low * 100:.0f}% to {high * 100:.0f}% of "
            "all devices."
        )
    else:
        sentences.append(
            "If 60% take part, a share of 30% among them can mean anything from 18% to 58% of all "
            "devices."
        )
    bound = "up to" if costs.fakes_exact else "about"
    sentences.append(
        "A dishonest client can't be told from an honest one. If one report in a hundred were a "
        f"fake, they could raise any one share by {bound} {costs.fakes_up * 100:.1f} points, or "
        f"lower it by {costs.fakes_down * 100:.1f}."
    )
    return tuple(sentences)


def _dropped(question: Question, registry: Registry) -> tuple[str, ...]:
    metric = question.newest
    sentences = [
        "Answers beyond a device's budget are never made, so who uses the app more does not count "
        "more than that.",
        f"Reports older than {plural(registry.max_age_days, 'day')}, from days to come, or after "
        f"{day(metric.expires)}, the last day of this metric.",
        "Reports counted before (sent twice), beyond the budget of their pseudonym, of an unknown "
        "metric or another revision, or of a form that this mechanism can't have made.",
    ]
    if metric.mechanism.max_values:
        sentences.append(
            f"Values of a device after its first {count(metric.mechanism.max_values)}: it goes on "
            "to answer with the last one, so estimates lag behind those who change often."
        )
    if question.left_out:
        names = ", ".join(str(m.revision) for m in question.left_out)
        sentences.append(
            f"Reports of revision {names}: its values differ, so they are not mixed in. Choose "
            "that revision above to see them."
        )
    return tuple(sentences)
