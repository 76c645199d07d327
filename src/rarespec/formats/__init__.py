"""Survey files to spectra. The only room that reads FITS; recognition is by structure, once per file."""

from rarespec.formats.reader import Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.formats.table import READERS, read, reader_by_name, reader_for

__all__ = ["READERS", "Container", "ReadOptions", "Reader", "Source", "read", "reader_by_name", "reader_for"]
