"""Text tables: CSV (also separated by semicolons, tabs or blanks), ECSV and VOTable.

Either one spectrum per file, a pixel per row, with columns wavelength or loglam, flux, and perhaps ivar or error, mask;
or one spectrum per row: a column per wavelength named by it (4000.5 or flux_4000.5), or numbered columns (flux_0001)
with the wavelengths in the table's metadata, or, in ECSV and VOTable, vectors in the columns.
CSV streams through in blocks of rows; the other two are read whole. A text file must end with the end of a line:
otherwise nothing could tell that its last number was cut.
"""

from __future__ import annotations

from collections.abc import Iterator

from rarespec.formats.astropy_tables import ecsv, votable, whole
from rarespec.formats.csv_spectra import spectra_of_csv
from rarespec.formats.memory_table import spectra_of_table
from rarespec.formats.reader import Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.spectrum import Defect, DefectError, Reason, Spectra


def read(source: Source, options: ReadOptions) -> Iterator[Spectra | Defect]:
    head = source.read(0, min(source.length, 4096)).lstrip(b"\xef\xbb\xbf \t\r\n")
    if not head.startswith(b"<") and source.read(source.length - 1, 1) not in b"\r\n":
        detail = "the last line does not end in a newline; fetch it again, or add one if the line is complete"
        raise DefectError(Reason.TRUNCATED, detail)
    if head.startswith(b"<") or head.startswith(b"# %ECSV"):
        table = votable(whole(source)) if head.startswith(b"<") else ecsv(whole(source))
        yield from spectra_of_table(table, source, options)
    else:
        yield from spectra_of_csv(source, options)


READER = Reader(
    "text-table",
    Container.TEXT,
    lambda source: True,
    read,
    "CSV, ECSV or VOTable, one spectrum per file or one per row",
)
