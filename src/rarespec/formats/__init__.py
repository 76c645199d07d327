"""Survey files to spectra. The only room that reads FITS; recognition is by structure, once per file."""

from rarespec.formats.contained import ReadLimits, read
from rarespec.formats.reader import Reader, ReadOptions
from rarespec.formats.readers import READERS, read_here, reader_by_name, reader_for
from rarespec.formats.source import Container, Source

__all__ = [
    "READERS",
    "Container",
    "ReadLimits",
    "ReadOptions",
    "Reader",
    "Source",
    "read",
    "read_here",
    "reader_by_name",
    "reader_for",
]
