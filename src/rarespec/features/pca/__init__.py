"""Principal components of more rows than memory holds."""
