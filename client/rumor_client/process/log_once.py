"""Rate-limited logging: one warning a kind of trouble, since the host app's log is not ours."""

from __future__ import annotations

_warned: set[str] = set()


def log_once(kind: str, message: str) -> None:
    """Log a warning to the logger `rumor_client`, the first time in this process for its kind."""
    if kind in _warned:
        return
    _warned.add(kind)
    try:
        import logging  # a healthy client never needs it
    except (ImportError, OSError):
        # The package's or Python's own files are gone: there is no one left to tell.
        return
    logging.getLogger("rumor_client").warning(message)
