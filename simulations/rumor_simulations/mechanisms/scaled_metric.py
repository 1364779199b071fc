"""A scaled-down metric: the same mechanism over few values, small enough to enumerate."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from rumor_shared.epsilon import format_micro
from rumor_shared.fields import Fields
from rumor_shared.mechanisms.table import from_fields
from rumor_shared.metric import Metric

# Enough cohorts that two of them differ.
SCALED_COHORTS = 8


def scaled_to(metric: Metric, count: int, **fields: Any) -> Metric:
    """Return the metric at its own epsilon over its first `count` values, with further fields."""
    mechanism = metric.mechanism
    table = {
        "epsilon": Decimal(format_micro(mechanism.epsilon_report)),
        "values": list((mechanism.values or ())[:count]),
        **fields,
    }
    few = from_fields(mechanism.name, Fields(table, f"metrics.{metric.name}"))
    return replace(metric, mechanism=few)
