"""Spectral indices: where they look, and what they measure."""
