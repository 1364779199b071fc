"""The question of the pictures: the one that `rumor init` begins with."""

from __future__ import annotations

from datetime import date

from rumor_shared.registry import registry_of

# The shares that the pictures estimate, in the order of the values.
SHARES = {"light": 0.55, "dark": 0.30, "system": 0.12, "other": 0.03}

THEME = registry_of(
    {
        "metrics": {
            "theme": {
                "revision": 1,
                "mechanism": "krr",
                "epsilon": 1,
                "values": list(SHARES),
                "other": "other",
                "owner": "documentation",
                "purpose": "pictures",
                "expires": date.max,
            }
        }
    }
).metric("theme")
