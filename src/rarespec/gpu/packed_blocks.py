"""Blocks of a survey in steps of the noise, unpacked on a GPU: half the bytes travel, and no CPU widens them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Tensor = Any


class PackedRows:
    """How rows of 16-bit words are laid out, and how they become flux: codes, then steps, then mask.

    Parameters
    ----------
    n_pixels : int
        Pixels of a spectrum.
    segment : int
        Pixels that share a step.
    block_rows : int
        Rows of every stored block but the last.
    dither : (rows, pixels) float32
        What was added before rounding; row i of a block has that of row i modulo its length.
    steps_per_octave, linear, per_octave, zero : int
        Constants of the format; see `rarespec.survey.store.precision`.
    """

    def __init__(
        self,
        n_pixels: int,
        segment: int,
        block_rows: int,
        dither: NDArray[np.float32],
        *,
        steps_per_octave: int,
        linear: int,
        per_octave: int,
        zero: int,
    ) -> None:
        self.n_pixels, self.n_segments = n_pixels, -(-n_pixels // segment)
        self._segment, self._block_rows, self._dither = segment, block_rows, dither
        self._steps_per_octave, self._linear, self._per_octave, self._zero = steps_per_octave, linear, per_octave, zero
        self._there: dict[str, Tensor] = {}

    @property
    def n_words(self) -> int:
        """Words of a row; eight pixels of the mask are a byte."""
        return self.n_pixels + self.n_segments + (-(-self.n_pixels // 8) + 1) // 2

    def gather(
        self,
        codes: NDArray[np.int16],
        steps: NDArray[np.int16],
        mask: NDArray[np.uint8],
        into: NDArray[np.int16] | None = None,
    ) -> NDArray[np.int16]:
        """Put what is stored of some rows side by side, (n, words).

        Parameters
        ----------
        codes : (n, pixels) int16
            Flux in steps.
        steps : (n, segments + 1) int16
            Codes of the steps.
        mask : (n, bytes) uint8
            Bad pixels, eight in a byte.
        into : (n, words) int16, optional
            Receives them; by default a new array.

        Returns
        -------
        (n, words) int16
            One array, so that one copy takes it to the device.
        """
        n_bytes = mask.shape[1]
        words = np.zeros((len(codes), (n_bytes + 1) // 2), np.int16)
        words.view(np.uint8)[:, :n_bytes] = mask
        return np.concatenate([codes, steps[:, : self.n_segments], words], axis=1, out=into)

    def to_flux(self, rows: Tensor) -> Tensor:
        """Unpack rows on the device where they are.

        Parameters
        ----------
        rows : (n, words) int16 tensor
            As `gather` gives them, of whole blocks; only the last may have fewer rows.

        Returns
        -------
        (n, pixels) float32 tensor
            The flux, NaN where a pixel is bad.
        """
        import torch

        p, ends = self.n_pixels, self.n_pixels + self.n_segments
        codes = rows[:, :p]
        steps = torch.exp2(rows[:, p:ends].to(torch.float64) / self._steps_per_octave).to(torch.float32)
        steps = steps.repeat_interleave(self._segment, dim=1)[:, :p]
        dither = self._dither_on(rows.device)
        number = torch.arange(rows.shape[0], device=rows.device) % self._block_rows % len(dither)
        flux = (codes.to(torch.float32) - dither[number]) * steps
        size = codes.to(torch.int32).abs()
        octaves = (size - self._linear).to(torch.float64) / self._per_octave
        bright = torch.sign(codes.to(torch.float64)) * self._linear * torch.exp2(octaves) * steps
        flux = torch.where(size > self._linear, bright.to(torch.float32), flux)
        flux = torch.where(codes == self._zero, torch.zeros_like(flux), flux)
        return torch.where(self._bad(rows[:, ends:]), torch.full_like(flux, float("nan")), flux)

    def _bad(self, words: Tensor) -> Tensor:
        """The mask, (n, pixels) bool: the highest bit of a byte is its first pixel."""
        import torch

        bits = torch.arange(7, -1, -1, dtype=torch.uint8, device=words.device)
        of_bytes = (words.contiguous().view(torch.uint8)[:, :, None] >> bits) & 1
        return of_bytes.reshape(len(words), -1)[:, : self.n_pixels].bool()

    def _dither_on(self, device: Any) -> Tensor:
        import torch

        if str(device) not in self._there:
            self._there[str(device)] = torch.as_tensor(self._dither, device=device)
        return self._there[str(device)]
