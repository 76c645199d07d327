"""Steps of a recipe that treat each spectrum by itself."""
