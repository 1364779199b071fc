"""Every error this project raises on purpose.

RumorError
├── RegistryError        the registry file is wrong; carries every Problem found
├── UnknownMechanism     no mechanism of that name is installed
├── IncompleteMechanism  a package's mechanism lacks a part that was asked for
├── UnknownMetric        the registry has no metric of that name
├── InvalidValue         a value the metric can't take; refused before any draw
└── MalformedPayload     bytes that the mechanism can't have made

No message repeats a submitted value: values are what Rumor promises not to learn.
"""

from __future__ import annotations

from dataclasses import dataclass


class RumorError(Exception):
    """Base of all errors that Rumor raises on purpose."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a registry: where, what, and what to do about it."""

    path: str
    what: str
    fix: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}; {self.fix}"


class RegistryError(RumorError):
    """The registry can't be used. `problems` lists what is wrong, field by field."""

    def __init__(self, problems: tuple[Problem, ...], source: str = "registry") -> None:
        self.problems = problems
        self.source = source
        super().__init__("\n".join([f"{source} can't be used:", *(f"  {p}" for p in problems)]))


class UnknownMechanism(RumorError):
    """No installed module implements the mechanism `name`."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"there is no mechanism named {name!r}")


class IncompleteMechanism(RumorError, TypeError):
    """The package of the mechanism `name` returns no class of the kind `wanted` from `function`."""

    def __init__(self, name: str, function: str, wanted: str) -> None:
        self.name = name
        self.function = function
        self.wanted = wanted
        super().__init__(
            f"mechanism {name!r}: `{function}()` of its package returns no class with all that "
            f"{wanted} has; add what is missing"
        )


class UnknownMetric(RumorError):
    """The registry has no metric named `metric`."""

    def __init__(self, metric: str, hint: str = "") -> None:
        self.metric = metric
        super().__init__(
            f"the registry has no metric named {metric!r}; {hint}declare it in the registry file"
        )


class InvalidValue(RumorError, ValueError):
    """The value given for `metric` is outside what the metric can take.

    Raised before any randomness is drawn, so nothing is spent and nothing is sent.
    """

    def __init__(self, metric: str, what: str, fix: str) -> None:
        self.metric = metric
        self.what = what
        self.fix = fix
        super().__init__(f"metric {metric!r}: {what}; {fix}")


class MalformedPayload(RumorError, ValueError):
    """The payload can't have come from the mechanism it claims."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(what)
