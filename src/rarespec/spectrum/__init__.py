"""What a spectrum is: a wavelength grid, flux on it, and what can be wrong with a file."""

from rarespec.spectrum.defect import Defect, DefectError, Reason, Skipped
from rarespec.spectrum.grid import NAMED_GRIDS, PAPER_GRID, WavelengthGrid
from rarespec.spectrum.resample import resample, to_rest_frame
from rarespec.spectrum.resolution import Resolution
from rarespec.spectrum.spectra import Spectra, Spectrum

__all__ = [
    "NAMED_GRIDS",
    "PAPER_GRID",
    "Defect",
    "DefectError",
    "Reason",
    "Resolution",
    "Skipped",
    "Spectra",
    "Spectrum",
    "WavelengthGrid",
    "resample",
    "to_rest_frame",
]
