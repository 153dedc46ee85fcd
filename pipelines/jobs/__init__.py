"""One module per runnable."""
