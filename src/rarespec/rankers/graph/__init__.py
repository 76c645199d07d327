"""Rankers that follow the neighbour graph."""
