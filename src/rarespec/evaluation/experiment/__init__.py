"""The experiments of Du et al. (2016) on any survey: every method on the same draws of known examples."""
