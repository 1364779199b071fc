"""The device SDK: it perturbs each answer, keeps the ledger, and uploads the reports.

    from rumor import Client

    with Client("metrics.toml", "https://rumor.example.org", app="editor") as client:
        client.consent.grant()          # once, when the owner has agreed
        client.record("theme", "dark")

Apps import it as `rumor`. Importing costs next to nothing: each name is loaded when it is first
used.

Order of reading: `client` (what an app calls, checked by `arguments`), `errors`, `recording` (one
call of `record`), `consent`, `perturbation`, `state`, `upload`, `inspection`, `process`, `testing`,
`__main__`.
"""

from __future__ import annotations

from rumor_client.process.lazy_imports import importing as _importing

# Type checkers take this name as true; importing `typing` would cost ten times this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from rumor_client.client import Client
    from rumor_client.consent.consent import Choice, Consent, Effective
    from rumor_client.errors import (
        ClientError,
        ConfigurationError,
        NoAnswer,
        StateBusy,
        StateUnavailable,
    )
    from rumor_client.inspection.status import Status
    from rumor_client.inspection.view import Seen
    from rumor_client.recording.outbox import Bounds
    from rumor_client.recording.result import Cap, RecordStatus, Result
    from rumor_client.state.memory import MemoryState
    from rumor_client.state.protocol import State
    from rumor_client.state.report import Report, Sent, Waiting
    from rumor_client.state.sqlite_state import SqliteState
    from rumor_client.upload.result import FlushResult, UploadStatus
    from rumor_client.upload.retraction import Forgotten
    from rumor_client.upload.transport import Request, Response, Transport

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

_HOMES = {
    "client": ("Client",),
    "consent.consent": ("Choice", "Consent", "Effective"),
    "upload.result": ("FlushResult", "UploadStatus"),
    "errors": (
        "ClientError",
        "ConfigurationError",
        "NoAnswer",
        "StateBusy",
        "StateUnavailable",
    ),
    "upload.retraction": ("Forgotten",),
    "state.memory": ("MemoryState",),
    "recording.outbox": ("Bounds",),
    "state.report": ("Report", "Sent", "Waiting"),
    "recording.result": ("Cap", "RecordStatus", "Result"),
    "state.sqlite_state": ("SqliteState",),
    "state.protocol": ("State",),
    "inspection.status": ("Status",),
    "upload.transport": ("Request", "Response", "Transport"),
    "inspection.view": ("Seen",),
}


def __getattr__(name: str) -> object:
    for module, names in _HOMES.items():
        if name in names:
            with _importing:
                import importlib

                home = importlib.import_module(f"rumor_client.{module}")
            found: object = getattr(home, name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
