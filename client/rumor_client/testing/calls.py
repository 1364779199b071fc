"""A spy on `record`: what an app asked to record, before it is perturbed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from rumor_client.client import Client
from rumor_client.recording.result import Result


class Call(NamedTuple):
    """One call of `record` that returned."""

    metric: str
    value: object
    result: Result


class _Anything:
    pass


_ANYTHING = _Anything()


class Calls(list[Call]):
    """The calls of `record`, in order."""

    def of(self, metric: str) -> list[Call]:
        """Return the calls for one metric."""
        return [call for call in self if call.metric == metric]

    def assert_recorded(
        self, metric: str, value: object = _ANYTHING, *, times: int | None = None
    ) -> None:
        """Raise AssertionError unless `metric` was recorded: so often, or at least once.

        With a `value`, calls with that value alone count; without, all do. A call that was refused
        (no consent, no budget) is no record. The message tells what else was recorded.
        """
        wanted = [c for c in self.of(metric) if value is _ANYTHING or c.value == value]
        made = sum(call.result.recorded for call in wanted)
        if made != times if times is not None else not made:
            expected = "at least once" if times is None else f"{times} times"
            refused = [str(call.result) for call in wanted if not call.result.recorded]
            others = [c.value for c in self.of(metric) if c.result.recorded and c not in wanted]
            raise AssertionError(
                f"{metric} was recorded {made} times, expected {expected}; refused: {refused};"
                f" recorded with other values: {others};"
                f" other metrics: {sorted({c.metric for c in self} - {metric})}"
            )

    def assert_nothing_recorded(self) -> None:
        """Raise AssertionError if anything was recorded."""
        made = sorted({call.metric for call in self if call.result.recorded})
        if made:
            raise AssertionError(f"recorded: {', '.join(made)}")


@contextmanager
def watch(client: Client) -> Iterator[Calls]:
    """Keep the calls of `client.record` for the block; they go on to the client as before."""
    calls = Calls()
    record = client.record

    def watched(metric: str, value: object) -> Result:
        result = record(metric, value)
        calls.append(Call(metric, value, result))
        return result

    client.record = watched  # type: ignore[method-assign]
    try:
        yield calls
    finally:
        del client.record
