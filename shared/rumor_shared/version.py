"""The version of Rumor: the one place it is written, and cheap enough for the client to import."""

__version__ = "0.1.0"
