"""Programs that run in the peers' environment, where nothing of ours is installed but these files.

Read `answering` (a question a line, an answer a line), then `clients` and `servers` (what each peer
library is asked).
"""
