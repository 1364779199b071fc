"""What HTTP asks of the routes that people read: addresses, media types, errors, the document."""
