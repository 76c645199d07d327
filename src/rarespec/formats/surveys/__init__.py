"""The layouts of the surveys: SDSS, LAMOST, DESI, Gaia, 6dF, GALAH, WEAVE, 4MOST, and the cubes of MaNGA and MUSE."""
