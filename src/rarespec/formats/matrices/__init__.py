"""Matrices of spectra: NumPy, HDF5, Parquet, Zarr."""
