"""LAMOST medium resolution, each exposure by itself: for time series, since the coadds hold the same light."""

from __future__ import annotations

from collections.abc import Iterator

from rarespec.formats.reader import Found, Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.formats.surveys import lamost_medium


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    yield from lamost_medium.exposures_of(source, options)


READER = Reader(
    "lamost-exposures",
    Container.FITS,
    lamost_medium.recognises,
    read,
    "LAMOST medium resolution, single exposures",
    on_request="each exposure",
)
