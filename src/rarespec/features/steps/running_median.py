"""The running median of a spectrum, with a window that is given in Angstrom or in pixels.

The filter is exact: every pixel of the result is the median of its window. Beyond the ends of a spectrum its first and
last pixels are repeated, as `scipy.ndimage.median_filter(..., mode="nearest")` does.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from numpy.typing import NDArray

from rarespec.features.steps.bridging import bridge
from rarespec.features.steps.median_network import MedianProgram, Operand, PhaseOutput, Step, median_program
from rarespec.features.steps.step import RowStep, unmask
from rarespec.spectrum import PAPER_GRID, WavelengthGrid
from rarespec.storage.processes import available_cores

# ---- Running medians of NumPy rows: the network runs on blocks that stay in cache, in buffers that are used again.


TILES_PER_BLOCK = 24_000
"""Length of a register. Shorter ones lose time between NumPy calls, longer ones leave the second-level cache."""

Flux = NDArray[Any]
Call = tuple[Callable[..., Any], Flux, Flux, Flux]


class SegmentFilter:
    """Medians of the pixels start .. stop-1 of each row, all with one window width. Not for use by two threads."""

    def __init__(self, program: MedianProgram, start: int, stop: int, dtype: np.dtype[Any]) -> None:
        self._program = program
        self._start, self._stop = start, stop
        self._n_tiles = -(-(stop - start) // program.n_phases)
        self._row_length = self._n_tiles + program.reach
        self._rows_per_block = max(1, TILES_PER_BLOCK // self._row_length)
        # Zeros, not empty: the ends of rows are computed too, and must raise no floating-point warnings.
        self._memory = np.zeros((program.n_registers, self._rows_per_block * self._row_length), dtype)
        self._bound: dict[int, _BoundProgram] = {}

    def __call__(self, flux: Flux, out: Flux) -> None:
        """Read rows of finite flux (n, p), write their medians to out[:, start:stop]."""
        for first in range(0, len(flux), self._rows_per_block):
            rows = slice(first, first + self._rows_per_block)
            self._filter_block(flux[rows], out[rows, self._start : self._stop])

    def _filter_block(self, flux: Flux, out: Flux) -> None:
        bound = self._bind_to(len(flux))
        n_phases = self._program.n_phases
        first_pixel = self._start - self._program.width // 2
        for phase, register in enumerate(bound.inputs):
            load_phase(register, flux, first_pixel + phase, n_phases)
        for phase, (calls, result) in enumerate(bound.outputs):
            for compare, left, right, target in calls:
                compare(left, right, out=target)
            medians = out[:, phase::n_phases]
            medians[...] = result[:, : medians.shape[1]]

    def _bind_to(self, n_rows: int) -> _BoundProgram:
        if n_rows not in self._bound:
            memory = self._memory[:, : n_rows * self._row_length]
            self._bound[n_rows] = _BoundProgram(self._program, memory, n_rows)
        return self._bound[n_rows]


class _BoundProgram:
    """A program whose operands are views made once: slicing would cost as much as comparing.

    Each register is one flat vector, row after row with `reach` tiles to spare, so that a shift never needs an edge.
    """

    def __init__(self, program: MedianProgram, memory: Flux, n_rows: int) -> None:
        self._memory = memory
        self._n_rows = n_rows
        self._n_tiles = memory.shape[1] // n_rows - program.reach
        self.inputs = [memory[phase].reshape(n_rows, -1) for phase in range(program.n_phases)]
        self.outputs = [(self._calls(output), self._rows(output.result)) for output in program.outputs]

    def _calls(self, output: PhaseOutput) -> list[Call]:
        calls: list[Call] = []
        for step in output.steps:
            length = self._memory.shape[1] - step.reach
            left, right = (self._memory[side.register, side.shift :][:length] for side in (step.left, step.right))
            compare = np.maximum if step.take_maximum else np.minimum
            calls.append((compare, left, right, self._memory[step.register, :length]))
        return calls

    def _rows(self, result: Operand) -> Flux:
        rows = self._memory[result.register].reshape(self._n_rows, -1)
        return rows[:, result.shift : result.shift + self._n_tiles]


def load_phase(register: Flux, flux: Flux, first_pixel: int, n_phases: int) -> None:
    """Copy every n_phases-th pixel of rows into a register; beyond the ends of a row its first or last pixel.

    Parameters
    ----------
    register : (n, t) array
        Written: tile i gets pixel first_pixel + n_phases * i.
    flux : (n, p) array
        The rows.
    first_pixel : int
        Pixel of the first tile; it may lie before the row or behind it.
    n_phases : int
        Pixels from one tile to the next.
    """
    n_pixels, n_tiles = flux.shape[1], register.shape[1]
    start = min(max(-(first_pixel // n_phases), 0), n_tiles)
    stop = min(max(-((first_pixel - n_pixels) // n_phases), start), n_tiles)
    if stop > start:
        inside = first_pixel + n_phases * start
        register[:, start:stop] = flux[:, inside : inside + n_phases * (stop - start) : n_phases]
    if start > 0:
        register[:, :start] = flux[:, :1]
    if stop < n_tiles:
        register[:, stop:] = flux[:, -1:]


# ---- Running medians of arrays that follow the array API standard: the same network, without buffers.


Array = Any


def segment_medians(xp: Any, program: MedianProgram, flux: Array, start: int, stop: int) -> Array:
    """Take the running median of the pixels start .. stop-1 of each row, all with one window width.

    Parameters
    ----------
    xp : module
        Array library of flux.
    program : MedianProgram
        The network for this width.
    flux : (n, p) array
        Rows, all finite.
    start : int
        First pixel.
    stop : int
        The pixel after the last.

    Returns
    -------
    (n, stop - start) array
        The medians. Beyond the ends of a row its first or last pixel is repeated.
    """
    n_tiles = -(-(stop - start) // program.n_phases)
    row_length = n_tiles + program.reach
    first_pixel = start - program.width // 2
    window = _continue_ends(xp, flux, first_pixel, first_pixel + program.n_phases * row_length)
    registers = {phase: window[:, phase :: program.n_phases] for phase in range(program.n_phases)}
    phases = []
    for steps, result in program.outputs:
        for step in steps:
            registers[step.register] = _compare(xp, registers, step, row_length - step.reach)
        phases.append(_read(registers, result, n_tiles))
    interleaved = xp.reshape(xp.stack(phases, axis=-1), (flux.shape[0], n_tiles * program.n_phases))
    return interleaved[:, : stop - start]


def _compare(xp: Any, registers: dict[int, Array], step: Step, length: int) -> Array:
    compare = xp.maximum if step.take_maximum else xp.minimum
    return compare(_read(registers, step.left, length), _read(registers, step.right, length))


def _read(registers: dict[int, Array], operand: Operand, length: int) -> Array:
    return registers[operand.register][:, operand.shift : operand.shift + length]


def _continue_ends(xp: Any, flux: Array, start: int, stop: int) -> Array:
    """The pixels start .. stop-1; beyond the ends of a row its first or last pixel."""
    n, p = flux.shape
    inside = flux[:, min(max(start, 0), p) : min(max(stop, 0), p)]
    n_before = min(max(-start, 0), stop - start)
    before = xp.broadcast_to(flux[:, :1], (n, n_before))
    after = xp.broadcast_to(flux[:, p - 1 :], (n, stop - start - n_before - inside.shape[1]))
    return xp.concat([before, inside, after], axis=1)


# ---- running median


WIDEST_NETWORK = 31
"""Pixels. Above it, NumPy rows go to SciPy, whose time grows with the logarithm of the width."""

LEAST_PIXELS = 3
"""Of a window on a grid so coarse that the width asked for would have fewer in the middle of the grid."""

ROWS_PER_BLOCK = 512
"""Rows that are bridged, then filtered: few enough for the copy to stay in the last cache."""

ROWS_PER_CALL = 8192
"""Rows that other array libraries get at once; the network then holds some twenty times their memory at most."""


class Segment(NamedTuple):
    """The pixels start .. stop-1, which share one window width."""

    start: int
    stop: int
    width: int


def median_filter(
    flux: Array,
    grid: WavelengthGrid | None = None,
    width_angstrom: float = 10.0,
    width_pixels: int | None = None,
    *,
    bad: Array | None = None,
    min_good: float = 0.5,
    n_threads: int | None = None,
) -> Array:
    """Take the running median of each spectrum.

    Parameters
    ----------
    flux : array
        Spectra, (n, p) or (p,), float32 or float64. Pixels that are not finite or masked are bridged first.
    grid : WavelengthGrid, optional
        Wavelengths of the p pixels. Needed unless `width_pixels` is given.
    width_angstrom : float, optional
        Width of the window; `pixel_widths` says how many pixels that is at each wavelength.
    width_pixels : int, optional
        An odd number of pixels, the same everywhere, instead of a width in Angstrom.
    bad : array of bool, optional
        Further pixels that must be bridged, of the shape of flux.
    min_good : float, optional
        Share of finite pixels that a spectrum needs. With fewer it comes out as NaN.
    n_threads : int, optional
        Threads that share the rows of a NumPy array. By default one per core when there are many rows.

    Returns
    -------
    array
        The medians, of the shape, library and floating-point type of flux. A median of zero may lose its sign.

    Raises
    ------
    ValueError
        If flux has no pixels, the width is not positive or not odd, or the grid is missing or of another length.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.features import median_filter
    >>> median_filter(np.array([1.0, 1.0, 9.0, 1.0, 1.0]), width_pixels=3)
    array([1., 1., 1., 1., 1.])
    """
    flux = unmask(np.asarray(flux) if isinstance(flux, list | tuple) else flux)
    xp = array_namespace(flux)
    rows = _as_rows(xp, flux)
    if bad is not None:
        rows = xp.where(xp.reshape(bad, rows.shape), xp.full_like(rows, float("nan")), rows)
    segments = _segments(rows.shape[1], grid, width_angstrom, width_pixels)
    filter_rows = _filter_numpy if is_numpy_array(rows) else _filter_other
    n_threads = n_threads or max(1, min(available_cores(), rows.shape[0] // ROWS_PER_BLOCK))
    return xp.reshape(filter_rows(rows, segments, min_good, n_threads), flux.shape)


def pixel_widths(grid: WavelengthGrid, width_angstrom: float) -> NDArray[np.intp]:
    """Return the width of the window at each pixel of the grid.

    It is the odd number nearest to `width_angstrom` divided by the width of the pixel, and at least 1; of two equally
    near ones the larger. 10 Angstrom on the paper's grid are 11 pixels at 3917 Angstrom and 5 at 8974 Angstrom. On a
    coarse grid, where that would be 1 in the middle of the grid, it is at least 3 everywhere.

    Parameters
    ----------
    grid : WavelengthGrid
        Wavelengths of the pixels.
    width_angstrom : float
        Width of the window.

    Returns
    -------
    ndarray of int
        Odd numbers of pixels, (p,).

    Raises
    ------
    ValueError
        If the width is not positive.
    """
    if not 0 < width_angstrom < float("inf"):
        raise ValueError(f"the width of a filter must be positive, not {width_angstrom} Angstrom")
    widths = 2 * np.floor(width_angstrom / np.diff(grid.edges) / 2).astype(np.intp) + 1
    return np.maximum(widths, LEAST_PIXELS) if is_coarse(grid, width_angstrom) else widths


def is_coarse(grid: WavelengthGrid, width_angstrom: float) -> bool:
    """Say whether a window of this width has fewer than 3 pixels in the middle of the grid.

    Parameters
    ----------
    grid : WavelengthGrid
        Wavelengths of the pixels.
    width_angstrom : float
        Width of the window.

    Returns
    -------
    bool
        True if `pixel_widths` widens it to 3 pixels.
    """
    middle = grid.n_pixels // 2
    return bool(width_angstrom < (LEAST_PIXELS - 1) * np.diff(grid.edges[middle : middle + 2])[0])


class WindowFilter(RowStep):
    """What filters share that bridge the bad pixels of each spectrum and then look at a window around each pixel."""

    why_unusable = "too few good pixels"

    def __init__(
        self,
        grid: WavelengthGrid | None = None,
        width_angstrom: float = 10.0,
        width_pixels: int | None = None,
        min_good: float = 0.5,
    ) -> None:
        self.grid = grid
        self.width_angstrom = width_angstrom
        self.width_pixels = width_pixels
        self.min_good = min_good

    def segments(self, n_pixels: int) -> tuple[Segment, ...]:
        """Return the pixels that share a window width, from blue to red.

        Parameters
        ----------
        n_pixels : int
            Length of the rows.

        Returns
        -------
        tuple of Segment
            Start, stop and width, in pixels.
        """
        return _segments(n_pixels, self._grid_of(n_pixels), self.width_angstrom, self.width_pixels)

    @property
    def widened(self) -> str:
        """What a person is told of a window that is narrower than 3 pixels of the grid; empty for any other."""
        if not self._is_widened:
            return ""
        pixel = float(np.diff(self.grid.wavelength).mean())  # type: ignore[union-attr]
        return (
            f"the window of {self.width_angstrom:g} A that features use is narrower than {LEAST_PIXELS} pixels of this "
            f"grid: it has {LEAST_PIXELS} pixels, about {LEAST_PIXELS * pixel:.3g} A"
        )

    @property
    def _is_widened(self) -> bool:
        return self.width_pixels is None and self.grid is not None and is_coarse(self.grid, self.width_angstrom)

    def deciding_values(self) -> dict[str, Any]:
        """Values that decide about the result: a window that is widened gives another one than in earlier versions."""
        return self.get_params(deep=False) | ({"least_pixels": LEAST_PIXELS} if self._is_widened else {})

    def _grid_of(self, n_pixels: int) -> WavelengthGrid | None:
        return PAPER_GRID if self.grid is None and n_pixels == PAPER_GRID.n_pixels else self.grid


class MedianFilter(WindowFilter):
    """Bridge the bad pixels of each spectrum, then take the running median.

    Parameters
    ----------
    grid : WavelengthGrid, optional
        Wavelengths of the columns of X. By default the paper's grid when X has its 3601 columns.
    width_angstrom : float, optional
        Width of the window.
    width_pixels : int, optional
        An odd number of pixels instead of a width in Angstrom; needs no grid.
    min_good : float, optional
        Share of good pixels that a spectrum needs. With fewer it comes out as a row of NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.features import MedianFilter
    >>> MedianFilter(width_pixels=3).fit_transform(np.array([[1.0, 1.0, 9.0, 2.0, 2.0]]))
    array([[1., 1., 2., 2., 2.]])
    """

    def _transform_rows(self, X: Array) -> Array:
        grid = self._grid_of(X.shape[1])
        return median_filter(X, grid, self.width_angstrom, self.width_pixels, min_good=self.min_good)


def _as_rows(xp: Any, flux: Array) -> Array:
    if flux.ndim not in (1, 2) or flux.shape[-1] == 0:
        raise ValueError(f"flux must be (n, p) or (p,) with at least one pixel, not {tuple(flux.shape)}")
    rows = flux if flux.ndim == 2 else flux[None, :]
    if is_numpy_array(rows):
        rows = rows.astype(rows.dtype.newbyteorder("="), copy=False)  # FITS files hold big-endian numbers
    return rows if rows.dtype in (xp.float32, xp.float64) else xp.astype(rows, xp.float64)


def _segments(
    n_pixels: int, grid: WavelengthGrid | None, width_angstrom: float, width_pixels: int | None
) -> tuple[Segment, ...]:
    if width_pixels is not None:
        if width_pixels < 1 or width_pixels % 2 != 1:
            raise ValueError(f"the width of a filter must be a positive odd number of pixels, not {width_pixels}")
        return (Segment(0, n_pixels, int(width_pixels)),)
    if grid is None:
        raise ValueError(
            f"a width in Angstrom needs the wavelength grid of these {n_pixels} pixels: give `grid`, or `width_pixels`"
        )
    if grid.n_pixels != n_pixels:
        raise ValueError(f"the grid has {grid.n_pixels} pixels but the flux has {n_pixels}")
    return _segments_of(grid, float(width_angstrom))


@lru_cache(maxsize=16)
def _segments_of(grid: WavelengthGrid, width_angstrom: float) -> tuple[Segment, ...]:
    widths = pixel_widths(grid, width_angstrom)
    cuts = [0, *(np.flatnonzero(np.diff(widths)) + 1).tolist(), len(widths)]
    return tuple(Segment(start, stop, int(widths[start])) for start, stop in pairwise(cuts))


def _filter_numpy(
    flux: NDArray[Any], segments: tuple[Segment, ...], min_good: float, n_threads: int
) -> NDArray[np.floating]:
    out = np.empty(flux.shape, flux.dtype)
    task = partial(_filter_share, flux, out, segments, min_good)
    n_shares = max(min(n_threads, len(flux)), 1)
    cuts = np.linspace(0, len(flux), n_shares + 1).astype(int).tolist()
    shares = [slice(start, stop) for start, stop in pairwise(cuts)]
    if n_shares == 1:
        task(shares[0])
        return out
    with ThreadPoolExecutor(n_shares) as pool:
        list(pool.map(task, shares))
    return out


def _filter_share(
    flux: NDArray[Any], out: NDArray[Any], segments: tuple[Segment, ...], min_good: float, share: slice
) -> None:
    filters = [_segment_filter(segment, flux.dtype) for segment in segments]
    for first in range(share.start, share.stop, ROWS_PER_BLOCK):
        rows = slice(first, min(first + ROWS_PER_BLOCK, share.stop))
        bridged = bridge(flux[rows], min_good=min_good).flux
        for filter_segment in filters:
            filter_segment(bridged, out[rows])


def _segment_filter(segment: Segment, dtype: np.dtype[Any]) -> Any:
    if segment.width > WIDEST_NETWORK:
        return partial(_filter_by_scipy, segment)
    return SegmentFilter(median_program(segment.width), segment.start, segment.stop, dtype)


def _filter_by_scipy(segment: Segment, flux: NDArray[Any], out: NDArray[Any]) -> None:
    from scipy.ndimage import median_filter as scipy_median_filter

    reach = segment.width // 2
    start, stop = max(segment.start - reach, 0), segment.stop + reach
    inside = slice(segment.start - start, segment.stop - start)
    for row, medians in zip(flux, out, strict=True):
        filtered = scipy_median_filter(row[start:stop], size=segment.width, mode="nearest")
        medians[segment.start : segment.stop] = filtered[inside]


def _filter_other(flux: Array, segments: tuple[Segment, ...], min_good: float, _n_threads: int) -> Array:
    xp = array_namespace(flux)
    blocks = []
    n = flux.shape[0]
    for first in range(0, max(n, 1), ROWS_PER_CALL):
        bridged = bridge(flux[first : min(first + ROWS_PER_CALL, n), :], min_good=min_good).flux
        parts = [segment_medians(xp, median_program(s.width), bridged, s.start, s.stop) for s in segments]
        blocks.append(xp.concat(parts, axis=1))
    return xp.concat(blocks, axis=0)
