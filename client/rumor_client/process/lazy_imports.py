"""The lock around lazy imports: a fork waits while another thread loads a part of the client.

Python locks a module while it is imported, and a child would find that lock held by a thread that
it does not have: the first client it makes would wait for ever.
"""

from __future__ import annotations

import os
from _thread import RLock

# The builtin, because `threading` takes longer to load than this package.
importing = RLock()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=importing.acquire,
        after_in_parent=importing.release,
        after_in_child=importing.release,
    )
