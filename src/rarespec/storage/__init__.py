"""What programs do with files and processes: whole files, isolated workers, text that others can read."""
