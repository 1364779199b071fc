"""Attack the installed client, and say how much it gives away beside what it declares."""
