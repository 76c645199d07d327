"""Known examples, in whatever form they are given."""
