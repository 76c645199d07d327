"""Survey files to spectra. The only room that reads FITS; recognition is by structure, once per file."""

from rarespec.formats.contained import ReadLimits, read_contained
from rarespec.formats.reader import Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.formats.table import READERS, read, reader_by_name, reader_for

__all__ = [
    "READERS",
    "Container",
    "ReadLimits",
    "ReadOptions",
    "Reader",
    "Source",
    "read",
    "read_contained",
    "reader_by_name",
    "reader_for",
]
