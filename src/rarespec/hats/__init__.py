"""HATS catalogues of spectra, searched partition by partition with LSDB, and candidates written as one."""
