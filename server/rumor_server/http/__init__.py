"""Who may do what, how much of it, and what a browser may do with the answer."""
