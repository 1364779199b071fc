"""Addresses of a metric's page: each a permalink that changes a few things of the present one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from rumor_server.http.dashboard.contents import MetricPage
from rumor_server.http.dashboard.view import MAX_FOLLOWED, Sort

_USUAL_DAYS = (7, 28, 91)


@dataclass(frozen=True)
class UsualPeriod:
    """A period that people often choose; without days it is all of them."""

    name: str
    first: date | None
    last: date | None


@dataclass(frozen=True)
class Links:
    """The addresses that one page leads to. `base` is the path before all of ours."""

    page: MetricPage
    base: str

    def to(self, **changes: Any) -> str:
        """Return the address of this view with some fields changed.

        `format` is no field of a view: it says what the address answers as. Whatever changes what
        the table holds leads to its first page.
        """
        format_ = changes.pop("format", None)
        if changes.keys() - {"page", "part"}:
            changes.setdefault("page", 1)
        query = self.page.view.query(**changes)
        if format_:
            query = f"{query}&format={format_}" if query else f"format={format_}"
        return self._path + (f"?{query}" if query else "")

    def sorting(self, column: str) -> str:
        """Return the address that a click on a column's head leads to; a second click turns it.

        Numbers come with the largest first, texts and p-values with the smallest.
        """
        down, up = Sort(f"-{column}"), Sort(column)
        first, second = (up, down) if column in {"value", "p_value"} else (down, up)
        return self.to(sort=second if self.page.view.sort is first else first)

    def following(self, value: str) -> str:
        """Return the address that puts a value first in the trend."""
        others = [other for other in self.page.followed if other != value]
        return self.to(followed=(value, *others[: MAX_FOLLOWED - 1]), page=self.page.view.page)

    def over(self, usual: UsualPeriod) -> str:
        """Return the address of a usual period, which may overlap what was compared with."""
        return self.to(first=usual.first, last=usual.last, before_first=None, before_last=None)

    @property
    def previous(self) -> str:
        """The address that compares this period with the one before."""
        first, last = self.page.previous
        return self.to(
            first=self.page.first, last=self.page.last, before_first=first, before_last=last
        )

    @property
    def upload(self) -> str:
        """The address to which candidates are sent, so that they are shown in the same view."""
        query = self.page.view.query(followed=(), page=1)
        return f"{self._path}/candidates" + (f"?{query}" if query else "")

    @property
    def periods(self) -> list[UsualPeriod]:
        """The periods to choose from, those that end today first."""
        today = self.page.today
        latest = [
            UsualPeriod(f"Last {days} days", today - timedelta(days=days - 1), today)
            for days in _USUAL_DAYS
        ]
        return [
            UsualPeriod("All days", None, None),
            UsualPeriod("Today", today, today),
            *latest,
        ]

    @property
    def _path(self) -> str:
        return f"{self.base}/metric/{self.page.metric.name}"
