"""Auto: several rankers, each trusted as far as it finds the known examples again."""
