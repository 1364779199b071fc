"""How `make docs` builds the pages: offline, and with every warning an error."""

from rumor_shared.version import __version__

project = "Rumor"
author = "The Rumor authors"
version = release = __version__

extensions = ["myst_parser"]
# `docs/generators` is code, and what the lists below leave out is no page.
exclude_patterns = ["generators"]
source_suffix = {".md": "markdown"}

myst_heading_anchors = 3
# Dollars and quotes mean themselves.
myst_enable_extensions: list[str] = []

html_theme = "furo"
html_title = "Rumor"
html_show_sourcelink = False
html_copy_source = False
# Code keeps its straight quotes, and a page asks no other host for anything.
smartquotes = False
