"""From a request to a durable verdict: decode, screen, admit, write, and take back."""
