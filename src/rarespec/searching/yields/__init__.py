"""How many true objects a ranked list holds, and where to stop."""
