"""What there is in the sky: one file per kind of object, each with `draw(rng, n) -> Population`."""
