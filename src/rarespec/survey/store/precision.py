"""In which steps a survey stores flux: exactly, or as whole numbers in steps of a third of its noise.

Beyond the first few bits the flux of a spectrum is noise, which no codec can pack. In steps of 0.35 of the noise a
spectrum takes a fifth of the room; what rounding adds is 1 % of the variance of the noise (0.35^2 / 12).

Notation, for one row; pixels are counted from 0, and a segment is SEGMENT neighbouring pixels

    flux[j] = (q[j] - d[j]) s      |q[j]| <= LINEAR; s the step of its segment, d a fixed number in [-1/2, 1/2)
    flux[j] = 0                    q[j] = ZERO
    flux[j] = +- LINEAR s 2^((|q[j]| - LINEAR) / PER_OCTAVE)      beyond: spikes and the brightest lines

Because d is known to both sides and has nothing to do with the flux, the error of a pixel is uniform and independent of
the flux (subtractive dithering, as `fpack -q` does it): sums over pixels and over spectra are unbiased, also where
the flux varies by less than a step.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import UsageError
from rarespec.features.nuisance import scatter_of

Stored = dict[str, NDArray[Any]]
"""Rows as they lie on disk, by the name of their array."""

USUAL_STEP = 0.35
SMALLEST_STEP, LARGEST_STEP = 0.01, 2.0
"""Of the noise. Smaller steps gain nothing over exact numbers; larger ones change faint lines."""

SEGMENT = 256
"""Pixels that share a step."""
LINEAR = 1 << 14
PER_OCTAVE = 1 << 10
ZERO = -(1 << 15)
LARGEST = (1 << 15) - 1
FAINTEST = 1 << 13
"""Steps that the mean flux of a segment has at most: what is nearly without noise gets steps of 1/8192 of itself."""

STEPS_PER_OCTAVE = 8
"""Steps and inverse variances are powers of 2^(1/8): a step is known exactly, an inverse variance to 4.4 %."""
ERRORS_CODES = 255
"""Of inverse variances, apart from 0: ten decades."""
MIDDLE_CODE = ERRORS_CODES // 2
SMALLEST_NORMAL = float(np.finfo(np.float32).tiny)
"""No step is smaller: below it, float32 has fewer digits."""
BRIGHTEST = float(np.finfo(np.float32).max) * (1 - 1e-3)
"""What is brighter could become infinity when it is rounded."""

DITHERED_ROWS = 64
"""Rows after which the dither is the same again."""
IN_CACHE = 64
"""Rows that are packed and unpacked at a time, so that they stay in the processor's cache between the steps of that."""


@dataclass(frozen=True)
class Precision:
    """How precisely a survey stores its spectra.

    Parameters
    ----------
    step : float or None
        Step of the flux in units of its noise; None stores flux and inverse variance as they are, in float32.

    Examples
    --------
    >>> from rarespec.survey import Precision
    >>> print(Precision.parse("noise"), Precision.parse("noise:0.2"), Precision.parse("exact"))
    noise noise:0.2 exact
    """

    step: float | None = USUAL_STEP

    def __post_init__(self) -> None:
        if self.step is not None and not SMALLEST_STEP <= self.step <= LARGEST_STEP:
            raise UsageError(
                f"precision: steps of {self.step:g} of the noise; give {SMALLEST_STEP:g} to {LARGEST_STEP:g}, or exact"
            )

    @classmethod
    def parse(cls, text: str) -> Precision:
        """Understand ``"noise"``, ``"noise:0.2"`` and ``"exact"``.

        Parameters
        ----------
        text : str
            What somebody wrote.

        Returns
        -------
        Precision
            What was meant.

        Raises
        ------
        UsageError
            If it is neither.
        """
        if text == "exact":
            return EXACT
        found = re.fullmatch(r"noise(:(?P<step>\d*\.?\d+))?", text)
        if found is None:
            raise UsageError(f"precision {text!r}: give noise, noise:STEP (such as noise:0.2) or exact")
        return cls(USUAL_STEP if found["step"] is None else float(found["step"]))

    def __str__(self) -> str:
        if self.step is None:
            return "exact"
        return "noise" if self.step == USUAL_STEP else f"noise:{float(self.step)!r}"

    def in_words(self) -> str:
        """Say what the precision is."""
        if self.step is None:
            return "exact (float32)"
        return f"flux in steps of {self.step:g} of its noise, which add {100 * self.step**2 / 12:.1f} % to its variance"

    @property
    def arrays(self) -> tuple[str, ...]:
        """Names of the arrays that a survey consists of."""
        return tuple(self.dtypes)

    @property
    def dtypes(self) -> dict[str, str]:
        """NumPy's names of the numbers in each array."""
        if self.step is None:
            return {"flux": "<f4", "ivar": "<f4", "mask": "|u1"}
        return {"flux": "<i2", "ivar": "|u1", "mask": "|u1", "steps": "<i2"}

    def widths(self, n_pixels: int) -> dict[str, int]:
        """Count the numbers in a row of each array.

        Parameters
        ----------
        n_pixels : int
            Pixels of a spectrum.

        Returns
        -------
        dict
            Array -> numbers.
        """
        widths = {"flux": n_pixels, "ivar": n_pixels, "mask": (n_pixels + 7) // 8}
        return widths if self.step is None else widths | {"steps": n_segments(n_pixels) + 1}

    def pack(
        self, flux: NDArray[np.float32], ivar: NDArray[np.float32], bad: NDArray[np.bool_], first_row: int
    ) -> Stored:
        """Turn spectra into what is stored of them.

        Parameters
        ----------
        flux, ivar : (n, pixels) float32
            Finite numbers; an inverse variance of 0 is unknown.
        bad : (n, pixels) bool
            Pixels that must not be used. Their flux and inverse variance do not decide about steps.
        first_row : int
            Number of the first of these rows in its block.

        Returns
        -------
        dict
            Rows of each array.
        """
        stored: Stored = {"mask": np.packbits(bad, axis=1)}
        if self.step is None:
            return stored | {"flux": flux, "ivar": ivar}
        n, widths = len(flux), self.widths(flux.shape[1])
        stored |= {name: np.empty((n, widths[name]), self.dtypes[name]) for name in ("flux", "ivar", "steps")}
        for start in range(0, n, IN_CACHE):
            some = slice(start, min(start + IN_CACHE, n))
            rounded = np.clip(flux[some], -BRIGHTEST, BRIGHTEST)
            codes = _step_codes(rounded, ivar[some], bad[some], self.step)
            stored["steps"][some, :-1] = codes
            stored["ivar"][some], stored["steps"][some, -1] = _pack_ivar(ivar[some])
            rows = first_row + np.arange(some.start, some.stop)
            stored["flux"][some] = _pack_flux(rounded, to_steps(codes), rows)
        return stored


EXACT = Precision(None)


def n_segments(n_pixels: int) -> int:
    """Count the segments of a spectrum; the last one may be shorter."""
    return -(-n_pixels // SEGMENT)


def to_steps(codes: NDArray[np.int16]) -> NDArray[np.float32]:
    """Give the steps with these codes; too large a code, which only a forged survey has, gives infinity or 0."""
    with np.errstate(over="ignore", under="ignore"):
        return np.exp2(codes.astype(np.float64) / STEPS_PER_OCTAVE).astype(np.float32)


def _of_pixels(steps: NDArray[np.float32], n_pixels: int) -> NDArray[np.float32]:
    """Give each pixel the step of its segment."""
    widths = np.full(steps.shape[1], SEGMENT)
    widths[-1] = n_pixels - SEGMENT * (len(widths) - 1)
    return np.repeat(steps, widths, axis=1)


# ---- Packing.


def _step_codes(
    flux: NDArray[np.float32], ivar: NDArray[np.float32], bad: NDArray[np.bool_], step: float
) -> NDArray[np.int16]:
    """Choose the steps of each segment, (n, segments)."""
    good = ~bad
    size, used = _segments(np.abs(flux) * good, 0), _segments(good, False)
    seen = scatter_of(np.where(bad, np.float32(np.nan), flux), SEGMENT)
    seen[seen == 0] = np.inf  # without scatter there is nothing to learn: other evidence decides
    noise = np.minimum(_stated_noise(ivar * good), seen)
    noise[~np.isfinite(noise)] = 0
    wanted = np.maximum(step * noise, size.max(axis=2) / _farthest())
    wanted = np.maximum(wanted, _usual_size(size, used, FAINTEST * wanted) / FAINTEST)
    constant = _are_constant(_segments(flux, 0), used, np.isinf(seen))
    wanted[constant] = size.max(axis=2)[constant] / (4.0 * LINEAR)  # beyond the steps nothing is dithered
    wanted[(wanted > 0) & (wanted < SMALLEST_NORMAL)] = SMALLEST_NORMAL
    # rounded down, so that no step is larger than asked for; 1 where there is nothing to store
    codes = np.floor(STEPS_PER_OCTAVE * np.log2(np.where(wanted > 0, wanted, 1)))
    return codes.astype(np.int16)


def _usual_size(size: NDArray[np.float32], good: NDArray[np.bool_], enough: NDArray[np.float64]) -> NDArray[np.float64]:
    """Usual |flux| of each segment's good pixels: their mean, or the median where the mean is more than `enough`.

    A few spikes raise a mean, not a median; but few segments need one, and it takes a while.
    """
    usual = size.sum(axis=2, dtype=np.float64) / np.maximum(np.count_nonzero(good, axis=2), 1)
    for place in zip(*np.nonzero(usual > enough), strict=True):
        usual[place] = np.median(size[place][good[place]].astype(np.float64))
    return usual


def _are_constant(flux: NDArray[np.float32], good: NDArray[np.bool_], may_be: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Find segments of one and the same number: a dead spectrum must stay one, and not become one of dither."""
    constant = may_be.copy()
    some, used = flux[may_be], good[may_be]
    highest, lowest = (
        np.where(used, some, -np.inf).max(axis=1, initial=-np.inf),
        np.where(used, some, np.inf).min(axis=1, initial=np.inf),
    )
    constant[may_be] = highest == lowest
    return constant


def _stated_noise(ivar: NDArray[np.float32]) -> NDArray[np.float64]:
    """Noise of each segment by its inverse variances: nearer to the least noisy pixels than to the noisiest."""
    known = _segments(ivar, 0)
    mean = known.sum(axis=2, dtype=np.float64) / np.maximum(np.count_nonzero(known, axis=2), 1)
    with np.errstate(divide="ignore"):
        return 1 / np.sqrt(mean)  # infinite where no error is known


def _segments(rows: NDArray[Any], filling: Any) -> NDArray[Any]:
    """Cut rows into segments, (n, segments, SEGMENT); the last one is filled up."""
    n, n_pixels = rows.shape
    filled = np.full((n, n_segments(n_pixels) * SEGMENT), filling, rows.dtype)
    filled[:, :n_pixels] = rows
    return filled.reshape(n, -1, SEGMENT)


def _farthest() -> float:
    """Steps of the brightest pixel that a code can stand for; an octave is spared, because steps are rounded down."""
    return LINEAR * 2.0 ** ((LARGEST - LINEAR) / PER_OCTAVE - 1)


def _pack_flux(flux: NDArray[np.float32], steps: NDArray[np.float32], rows: NDArray[np.intp]) -> NDArray[np.int16]:
    n_pixels = flux.shape[1]
    with np.errstate(over="ignore"):  # in bad pixels there may be anything
        in_steps = flux / _of_pixels(steps, n_pixels)
    codes = np.rint(in_steps + _dither_of(rows, n_pixels))
    beyond = np.abs(codes) > LINEAR
    if beyond.any():
        octaves = np.log2(np.abs(in_steps[beyond]) / LINEAR)
        bright = LINEAR + np.clip(np.rint(PER_OCTAVE * octaves), 0, LARGEST - LINEAR)
        codes[beyond] = np.copysign(bright, in_steps[beyond])
    codes[flux == 0] = ZERO
    return codes.astype(np.int16)


def _pack_ivar(ivar: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.int16]]:
    """Codes, (n, pixels), down from the largest of the row, whose code, (n,), is given too; 0 is unknown."""
    known = ivar > 0
    with np.errstate(divide="ignore"):
        levels = np.rint(STEPS_PER_OCTAVE * np.log2(ivar))  # minus infinity where nothing is known
    # beyond the largest float32 there is infinity
    top = np.minimum(levels.max(axis=1), STEPS_PER_OCTAVE * 128 - 1)
    lowest = np.where(known, levels, np.inf).min(axis=1)
    for row in np.flatnonzero(top - lowest >= ERRORS_CODES):
        # more decades than there are codes: a few absurd pixels must not take the errors of all others with them
        top[row] = min(top[row], max(lowest[row] + ERRORS_CODES - 1, np.median(levels[row][known[row]]) + MIDDLE_CODE))
    top = np.floor(np.where(np.isfinite(top), top, 0))
    codes = np.clip(1 + top[:, None] - levels, 1, ERRORS_CODES).astype(np.uint8)
    codes[~known] = 0
    return codes, top.astype(np.int16)


@lru_cache(maxsize=4)
def dither(n_pixels: int) -> NDArray[np.float32]:
    """Give the numbers in [-1/2, 1/2) that are added before flux is rounded, (DITHERED_ROWS, pixels).

    They are part of the format: made by whole-number arithmetic that no library can change.
    """
    x = np.arange(DITHERED_ROWS, dtype=np.uint32)[:, None] * np.uint32(0x9E3779B9) + np.arange(
        n_pixels, dtype=np.uint32
    ) * np.uint32(0x85EBCA6B)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x = (x ^ (x >> np.uint32(shift))) * np.uint32(factor)
    x ^= x >> np.uint32(16)
    # 24 bits: float32 has no more
    return ((x >> np.uint32(8)).astype(np.float64) / (1 << 24) - 0.5).astype(np.float32)


# ---- Unpacking.


def unpack_flux(
    codes: NDArray[np.int16], steps: NDArray[np.int16], rows: NDArray[np.intp], out: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Turn stored flux into flux.

    Parameters
    ----------
    codes : (n, pixels) int16
        Rows of the array "flux".
    steps : (n, segments + 1) int16
        The same rows of "steps".
    rows : (n,) intp
        Numbers of the rows within their block.
    out : (n, pixels) float32
        Receives the flux.

    Returns
    -------
    (n, pixels) float32
        `out`.
    """
    for start in range(0, len(codes), IN_CACHE):
        some = slice(start, start + IN_CACHE)
        _unpack_some(codes[some], steps[some], rows[some], out[some])
    return out


def _unpack_some(
    codes: NDArray[np.int16], steps: NDArray[np.int16], rows: NDArray[np.intp], out: NDArray[np.float32]
) -> None:
    out[...] = codes
    out -= _dither_of(rows, codes.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        out *= _of_pixels(to_steps(steps[:, :-1]), codes.shape[1])  # three times as fast as segment by segment
    if codes.min() == ZERO:
        np.copyto(out, 0, where=codes == ZERO)
    size = np.abs(codes)  # that of ZERO is no int16, and stays negative
    if size.max() > LINEAR:
        _unpack_beyond(codes, np.flatnonzero(size > LINEAR), steps, out)


def _dither_of(rows: NDArray[np.intp], n_pixels: int) -> NDArray[np.float32]:
    """The dither of these rows, (n, pixels); not copied where the rows follow each other as in the table."""
    table, first = dither(n_pixels), int(rows[0] % DITHERED_ROWS)
    if first + len(rows) <= DITHERED_ROWS and rows[-1] - rows[0] == len(rows) - 1:
        return table[first : first + len(rows)]
    return table[rows % DITHERED_ROWS]


def _unpack_beyond(
    codes: NDArray[np.int16], places: NDArray[np.intp], steps: NDArray[np.int16], out: NDArray[np.float32]
) -> None:
    """Unpack the few codes that are no steps, of what is very bright; places are counted through all rows."""
    row, pixel = np.divmod(places, codes.shape[1])
    code = codes[row, pixel].astype(np.float64)
    octaves = (np.abs(code) - LINEAR) / PER_OCTAVE
    with np.errstate(over="ignore", invalid="ignore"):
        out[row, pixel] = np.copysign(LINEAR * np.exp2(octaves), code) * to_steps(steps[row, pixel // SEGMENT])


def unpack_ivar(codes: NDArray[np.uint8], steps: NDArray[np.int16]) -> NDArray[np.float32]:
    """Turn stored inverse variances into inverse variances.

    Parameters
    ----------
    codes : (n, pixels) uint8
        Rows of the array "ivar".
    steps : (n, segments + 1) int16
        The same rows of "steps".

    Returns
    -------
    (n, pixels) float32
        0 where the error is not known.
    """
    relative = np.exp2((1 - np.arange(ERRORS_CODES + 1)) / STEPS_PER_OCTAVE).astype(np.float32)
    relative[0] = 0
    with np.errstate(over="ignore", invalid="ignore"):
        return relative[codes] * to_steps(steps[:, -1:])
