"""Nearest rows, and the graph made of them."""
