"""The passage around lazy imports: a fork waits while another thread loads a part of the client.

Python locks a module while it is imported, and a child would find that lock held by a thread that
it does not have: the first client it makes would wait for ever.
"""

from __future__ import annotations

from rumor_client.process.fork import Importing

importing = Importing()
importing_later = Importing(later=True)
