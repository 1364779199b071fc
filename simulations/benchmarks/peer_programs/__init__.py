"""What runs in the peers' environment, where nothing of ours is installed but these files."""
