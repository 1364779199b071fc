"""The media types that a request's Accept header asks for (RFC 9110, section 12.5.1)."""

from __future__ import annotations


def accepted(accept: str) -> dict[str, float]:
    """Return the weight of each media type named, in order; an unreadable weight counts as 0."""
    weights: dict[str, float] = {}
    for part in accept.lower().split(","):
        kind, *parameters = (word.strip() for word in part.split(";"))
        weight = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                try:
                    weight = float(parameter[2:])
                except ValueError:
                    weight = 0.0
        weights[kind] = weight
    return weights
