"""The features of a survey, read from their files block by block, or computed where a file is not there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rarespec.engines.here import one_blas_thread
from rarespec.features.recipe import Recipe
from rarespec.features.rows import after
from rarespec.rankers.covariance import ledoit_wolf
from rarespec.rankers.rows import fingerprint_of_rows
from rarespec.spectrum import Defect, Reason
from rarespec.survey.features.joined import join_features
from rarespec.survey.features.kept import Arrays, check_array, keep_if_possible, make_of_kept, npz
from rarespec.survey.features.prepared import PreparedBlocks, content_name, strip_for_sending
from rarespec.survey.store.manifest import BlockRecord
from rarespec.survey.survey import Survey


@dataclass(frozen=True)
class FeatureSet:
    """The features of one state of a survey under one recipe, rows in the order of the survey.

    `rarespec.features_of` makes it. Blocks are read from their files, or computed where a file is missing.

    Parameters
    ----------
    survey : Survey
        The survey.
    recipe : Recipe
        The recipe, fitted.
    folder : Path
        Where the features are kept.
    n_fitted : int
        How many rows the survey had when the recipe learned from it.
    prepared : PreparedBlocks
        What the last steps of the recipe start from.
    held : dict, optional
        Blocks whose file could not be written, by number.
    seen : dict, optional
        `lost_at` and `n_bad` of the blocks that were read, so that no file is read a second time for them.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import rarespec
    >>> with TemporaryDirectory() as folder:
    ...     survey = rarespec.Survey.create(f"{folder}/mock.survey")
    ...     report = survey.append(rarespec.MockSky(60, seed=1))
    ...     features = survey.features()
    ...     print(len(features), features.values.dtype, features.usable.all())
    60 float32 True
    """

    survey: Survey
    recipe: Recipe
    folder: Path
    n_fitted: int
    prepared: PreparedBlocks = field(repr=False)
    held: dict[int, Arrays] = field(default_factory=dict, repr=False, compare=False)
    seen: dict[int, tuple[NDArray[np.int8], NDArray[np.int32]]] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.survey)

    def blocks(self) -> Iterator[NDArray[np.float32]]:
        """Give the features block by block.

        Yields
        ------
        (rows, features) float32 array
            The features of the next block.
        """
        return (self.block(i)["values"] for i in range(self.survey.n_blocks))

    @cached_property
    def values(self) -> NDArray[np.float32]:
        """All features, (n, features) float32; the row of a spectrum without features holds NaN."""
        if self._joined is not None and len(self._joined["values"]) == len(self):
            return self._joined["values"]
        return np.concatenate(list(self.blocks()))

    @cached_property
    def usable_values(self) -> NDArray[np.float32]:
        """Features of the spectra that have any, (n_usable, features) float32, in the survey's order.

        Those of a large survey are mapped from a file, and cannot be changed.
        """
        if self._joined is not None:
            return self._joined["values"]
        rows = np.empty((len(self), self.width), np.float32)
        filled = 0
        for i in range(self.survey.n_blocks):
            block = self.block(i)
            taken = block["values"][block["lost_at"] == 0]
            rows[filled : filled + len(taken)] = taken
            filled += len(taken)
        rows.resize((filled, self.width), refcheck=False)  # in place: nearly all are usable
        return rows

    @cached_property
    def fingerprint(self) -> str:
        """A text that differs when `usable_values` differ; computed once, as it takes seconds in a large survey."""
        if self._joined is not None:
            return self._joined["fingerprint"].tobytes().decode()
        return fingerprint_of_rows(self.usable_values)

    @cached_property
    def spread(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and covariance of `usable_values`, (features,) and (features, features), as `ledoit_wolf` gives them."""
        if self._joined is not None:
            return self._joined["mean"], self._joined["covariance"]
        return ledoit_wolf(self.usable_values)[:2]

    @cached_property
    def _joined(self) -> Arrays | None:
        return join_features(self)

    @cached_property
    def usable(self) -> NDArray[np.bool_]:
        """Which spectra have features, (n,) bool."""
        return self._lost_at == 0

    @cached_property
    def n_bad(self) -> NDArray[np.int32]:
        """Bad pixels of each spectrum, (n,) int32; in a usable one they were bridged."""
        if self._joined is not None:
            return self._joined["n_bad"]
        return np.concatenate([self._read_seen(i)[1] for i in range(self.survey.n_blocks)])

    @property
    def defects(self) -> list[Defect]:
        """The spectra without features, and why."""
        rows = np.flatnonzero(~self.usable)
        reasons = [self.recipe.why_lost(int(number)) for number in self._lost_at[rows]]
        ids, path = self.survey.ids[rows], str(self.survey.path)
        return [Defect(path, Reason.NO_FEATURES, why, id) for id, why in zip(ids, reasons, strict=True)]

    @cached_property
    def _lost_at(self) -> NDArray[np.int8]:
        if self._joined is not None:
            return self._joined["lost_at"]
        return np.concatenate([self._read_seen(i)[0] for i in range(self.survey.n_blocks)])

    def _read_seen(self, i: int) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
        if i not in self.seen:
            self.block(i)
        return self.seen[i]

    def block(self, i: int) -> Arrays:
        """Read one block from its file.

        If the file is damaged, a warning says so and the block is computed again; likewise if the file was removed
        because the survey has grown since.

        Parameters
        ----------
        i : int
            Number of the block, from 0.

        Returns
        -------
        dict of arrays
            `values` (rows, features) float32, `lost_at` (rows,) int8 and `n_bad` (rows,) int32.
        """
        if i in self.held:
            return self.held[i]
        arrays = make_of_kept(self.file(i), partial(self._check_block, i)) or self.compute(i)
        self.seen[i] = arrays["lost_at"], arrays["n_bad"]
        return arrays

    def _check_block(self, i: int, arrays: Arrays) -> Arrays:
        """Raise a ValueError unless these can be the features of this block."""
        n = self.survey.manifest.blocks[i].rows
        values = check_array(arrays, "values", np.float32, (n, self.width))
        lost_at = check_array(arrays, "lost_at", np.int8, (n,), 0, len(self.recipe.steps_))
        check_array(arrays, "n_bad", np.int32, (n,), 0, self.survey.grid.n_pixels)
        if not np.isfinite(values[lost_at == 0]).all():
            raise ValueError("values of usable spectra are not finite")
        return arrays

    @cached_property
    def width(self) -> int:
        """How many features a spectrum has."""
        probe = np.zeros((1, self.survey.grid.n_pixels), np.float32)
        return int(after(self.recipe.steps_, probe).shape[1])

    def file(self, i: int) -> Path:
        """Say where the features of one block are kept.

        Parameters
        ----------
        i : int
            Number of the block, from 0.

        Returns
        -------
        Path
            The file, which need not exist yet.
        """
        return self.folder / block_file(self.survey.manifest.blocks[i], i)

    def compute(self, i: int) -> Arrays:
        """Compute the features of one block from its flux, and write them to its file where that is possible.

        Parameters
        ----------
        i : int
            Number of the block, from 0.

        Returns
        -------
        dict of arrays
            As `block` gives them.
        """
        with one_blas_thread():  # as on any engine: the features must not depend on whether they can be kept
            parts = [(*self.recipe.finish(part.rows, part.lost_at), part.n_bad) for part in self.prepared.parts(i)]
        values, lost_at, n_bad = (np.concatenate(pieces) for pieces in zip(*parts, strict=True))
        arrays: Arrays = {"values": values.astype(np.float32, copy=False), "lost_at": lost_at, "n_bad": n_bad}
        self.keep(i, arrays)
        self.prepared.forget(i)
        return arrays

    def keep(self, i: int, arrays: Arrays) -> None:
        """Write the arrays of a block to its file, or hold them in memory where that is not possible.

        Parameters
        ----------
        i : int
            Number of the block, from 0.
        arrays : dict of arrays
            As `block` gives them.
        """
        # a model that was replaced meanwhile has lost its directory
        if not self.folder.is_dir() or not keep_if_possible(self.file(i), npz(arrays)):
            self.held[i] = arrays
            self.seen[i] = arrays["lost_at"], arrays["n_bad"]

    def __reduce__(self) -> tuple[Any, ...]:
        """Send what another process needs to compute blocks, without anything that was read or learned on the way."""
        survey, learned = strip_for_sending(self.survey), self.recipe.state()
        return _unpack_sent, (survey, clone(self.recipe), learned, self.folder.absolute(), self.n_fitted, self.prepared)


def _unpack_sent(
    survey: Survey,
    recipe: Recipe,
    learned: Arrays,
    folder: Path,
    n_fitted: int,
    prepared: PreparedBlocks,
) -> FeatureSet:
    return FeatureSet(survey, recipe.restore(learned), folder, n_fitted, prepared)


def block_file(record: BlockRecord, i: int) -> str:
    """Name the file of a block after the contents it was computed from."""
    return f"{content_name(record, i)}.npz"
