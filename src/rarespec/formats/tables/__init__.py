"""Text tables: CSV, ECSV, VOTable."""
