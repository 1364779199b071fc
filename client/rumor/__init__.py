"""The import name of the distribution: what an app takes from Rumor.

    from rumor import Client

    with Client("metrics.toml", "https://rumor.example.org", app="editor") as client:
        client.record("theme", "dark")

A facade over `rumor_client`, which works in a base install: each name is loaded when it is first
used (PEP 562), and `__init__.pyi` beside this file tells editors and type checkers what it is.
`testing` is what the tests of an app need.
"""

from __future__ import annotations

__all__ = [
    "Bounds",
    "Cap",
    "Choice",
    "Client",
    "ClientError",
    "ConfigurationError",
    "Consent",
    "Effective",
    "FlushResult",
    "Forgotten",
    "MemoryState",
    "NoAnswer",
    "RecordStatus",
    "Report",
    "Request",
    "Response",
    "Result",
    "Seen",
    "Sent",
    "SqliteState",
    "State",
    "StateBusy",
    "StateUnavailable",
    "Status",
    "Transport",
    "UploadStatus",
    "Waiting",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import rumor_client

    found = globals()[name] = getattr(rumor_client, name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
