"""Where work runs: in threads or processes of this machine, or on a Dask cluster. Knows nothing of spectra."""
