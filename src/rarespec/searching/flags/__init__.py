"""Signs that a spectrum is on the list for what went wrong, not for what it is."""
