"""FITS files that no reader here recognises, read by the loaders of specutils where it is installed.

It is a fallback: to guess takes specutils a tenth of a second for each file, and it does not verify what it reads. The
file was walked by this room before, so damage to its structure or under a checksum has been found by then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from rarespec.formats.columns import ERROR, IVAR, find, number_ids, stem_of
from rarespec.formats.reader import Found, Reader, ReadOptions, noted
from rarespec.formats.source import Container, Source
from rarespec.formats.specutils_objects import from_specutils
from rarespec.formats.stacks import MOST_PIXELS
from rarespec.spectrum import DefectError, Reason

if TYPE_CHECKING:
    from specutils import Spectrum

    from rarespec.formats.fits.blocks import Hdu

MOST_BYTES = 256 << 20
"""Specutils holds a file whole, several times over."""
GUESSES_BY_UNITS = "tabular-fits"
"""The loader that takes the first column in a unit of flux for the flux."""
BY_KEYWORDS = "wcs1d-fits"
"""The loader that takes pixel numbers for Angstrom where an image has no wavelength axis."""
UNKNOWN = "a layout that neither rarespec nor specutils recognises"
MOST_TOLD = 4
"""HDUs that a message describes."""


def recognises(source: Source) -> bool:
    """Say whether specutils is there to try; what it makes of the file, only reading tells."""
    return source.container == Container.FITS and source.length <= MOST_BYTES and find_spec("specutils") is not None


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    if not recognises(source):
        raise DefectError(Reason.UNRECOGNISED, "specutils reads FITS files, and must be installed")
    unsafe = {GUESSES_BY_UNITS} if _may_mistake_errors(source) else set()
    found = _load(str(source.path), unsafe if _has_axis(source) else unsafe | {BY_KEYWORDS})
    if found is None:
        raise DefectError(Reason.UNRECOGNISED, f"{UNKNOWN}: {_contents(source)}")
    loader, spectra = found
    single = len(spectra) == 1
    yield from noted(source, f"read by the loader of specutils for {loader!r}", len(spectra))
    for number, spectrum in enumerate(spectra):
        stack = from_specutils(spectrum, air=options.air)
        names = stack.ids if len(set(stack.ids)) == len(stack) > 1 else [stem_of(source.path)] * len(stack)
        own = number_ids(names[0], number, 1, single=single) if len(stack) == 1 else names
        stack.catalogue.update({"source": [source.name] * len(stack), "id": own})
        yield stack


def _may_mistake_errors(source: Source) -> bool:
    """A table that names its errors but not its flux: a loader that goes by units would take the errors for flux."""
    return any(find(hdu.columns, (*ERROR, *IVAR)) for hdu in source.hdus if hdu.is_table)


def _has_axis(source: Source) -> bool:
    return any(hdu.is_image and "CRVAL1" in hdu.header and hdu.header.string("CTYPE1") for hdu in source.hdus)


def _contents(source: Source) -> str:
    """What is in the file, in words."""
    told = [_in_words(hdu) for hdu in source.hdus if hdu.is_table or (hdu.is_image and hdu.image_shape)]
    more = f" and {len(told) - MOST_TOLD} more" if len(told) > MOST_TOLD else ""
    return "; ".join(told[:MOST_TOLD]) + more if told else "there is neither a table nor an image"


def _in_words(hdu: Hdu) -> str:
    if hdu.is_image:
        return f"{hdu.label} is an image of {' x '.join(map(str, hdu.image_shape))} without wavelengths"
    names = ", ".join(name[:40] for name in hdu.columns[:12])
    return f"{hdu.label} has columns {names}; call them wavelength and flux"


def _load(path: str, unsafe: set[str]) -> tuple[str, list[Spectrum]] | None:
    """The first loader that recognises the file and gives spectra, and these; None if there is none."""
    from specutils import Spectrum, SpectrumList

    for kind in (Spectrum, SpectrumList):
        for loader in _loaders(kind, path):
            if loader in unsafe:
                continue
            try:
                found = kind.read(path, format=loader)
            except MemoryError:
                raise
            except Exception:  # each loader has its own; the next one may do better
                continue
            spectra = _usable([found] if isinstance(found, Spectrum) else found)
            if spectra:
                return loader, spectra
    return None


def _loaders(kind: Any, path: str) -> list[str]:
    from astropy.io import registry

    try:
        return list(registry.identify_format("read", kind, path, None, [path], {}))
    except MemoryError:
        raise
    except Exception:  # a loader that fails to look at the file does not know it
        return []


def _usable(spectra: Iterable[Spectrum]) -> list[Spectrum]:
    """Those of one or two dimensions on wavelengths; cubes and spectra in pixels are of no use here."""
    from astropy import units as u

    return [
        spectrum
        for spectrum in spectra
        if spectrum.flux.ndim in (1, 2)
        and 2 <= len(spectrum.spectral_axis) <= MOST_PIXELS
        and spectrum.spectral_axis.unit.is_equivalent(u.AA, u.spectral())
    ]


READER = Reader("specutils", Container.FITS, recognises, read, "other FITS files, by the loaders of specutils")
