"""Features and neighbours of a whole survey, kept with it."""
