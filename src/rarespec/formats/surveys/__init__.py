"""The layouts of the surveys: SDSS, LAMOST, DESI."""
