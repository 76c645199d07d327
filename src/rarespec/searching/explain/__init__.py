"""Why a candidate is on the list."""
