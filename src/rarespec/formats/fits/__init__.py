"""FITS files: blocks, headers, tables, and the generic layouts."""
