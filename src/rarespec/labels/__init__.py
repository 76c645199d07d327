"""What people said about spectra: an append-only log of labels, and what follows from it."""
