"""Features of a whole survey: computed block by block, kept with the survey, grown when it grows.

    SURVEY/features/FINGERPRINT/current.json        the model in use, and the recipe in words
    SURVEY/features/FINGERPRINT/MODEL/model.npz     what the recipe learned
    SURVEY/features/FINGERPRINT/MODEL/BLOCK.npz     features of one block of the survey

A model has a directory of its own, named after its contents, and a block's file is named after the contents of the
block: whatever several processes do at once, features never stand beside a model that did not make them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rarespec.engines.engine import Engine
from rarespec.engines.here import compute_ahead
from rarespec.errors import SurveyError, UsageError
from rarespec.features.paper import for_grid
from rarespec.features.pca.components import TooFewRowsError
from rarespec.features.recipe import Recipe, sample_survey, spread_rows
from rarespec.gpu.device_recipe import BlockFeatures, recipe_on
from rarespec.gpu.filled_stream import Part
from rarespec.gpu.packed_blocks import PackedRows
from rarespec.progress import Progress
from rarespec.storage.processes import available_cores, give_back_freed, keep_freed
from rarespec.survey.engine_for import AnyEngine, engine_for
from rarespec.survey.features.feature_set import FeatureSet, block_file
from rarespec.survey.features.kept import (
    CURRENT,
    MODEL,
    current_content,
    current_model,
    keep_if_possible,
    model_content,
    name_of_model,
    npz,
    require_no_links,
    restore_model,
)
from rarespec.survey.features.prepared import PreparedBlocks, SurveyRows, Visit
from rarespec.survey.store.arrays import stored_block
from rarespec.survey.store.location import is_remote, remove_tree
from rarespec.survey.store.manifest import NAME as MANIFEST
from rarespec.survey.store.precision import EXACT, LINEAR, PER_OCTAVE, SEGMENT, STEPS_PER_OCTAVE, ZERO, dither
from rarespec.survey.survey import Survey

if TYPE_CHECKING:
    from rarespec.gpu.device_recipe import DeviceRecipe


# ---- Features of a survey on a graphics card: blocks stream through its memory.


ROWS_AT_ONCE = 1 << 14
"""Rows of stored blocks that are one piece of work for a device: to begin a piece takes as long as to compute 2000."""
N_WRITERS = 4
"""Threads that write features."""


def learn_from_sample(survey: Survey, recipe: Recipe, keeping: PreparedBlocks | None = None) -> Recipe:
    """Fit a recipe that learns from a sample, on the CPU; a GPU may be opened meanwhile.

    Parameters
    ----------
    survey : Survey
        The survey.
    recipe : Recipe
        What is to learn.
    keeping : PreparedBlocks, optional
        Blocks of this recipe, which keep in memory what is read for the sample.

    Returns
    -------
    Recipe
        The same recipe, fitted.
    """
    read, n_threads = partial(_read_some, survey), available_cores()
    if keeping is not None:
        recipe.fit_preparation(sample_survey(read, survey.n_blocks, 0))
        read = partial(_read_some_and_keep, survey, keeping)
    # not named here: the recipe drops the sample as soon as it can
    return recipe.fit_sample(sample_survey(read, survey.n_blocks, recipe.n_sample, n_threads))


def _read_some(survey: Survey, i: int, n: int) -> NDArray[np.float32]:
    return survey.masked_flux_at(i, spread_rows(np.arange(survey.manifest.blocks[i].rows), n))


def _read_some_and_keep(survey: Survey, keeping: PreparedBlocks, i: int, n: int) -> NDArray[np.float32]:
    flux = survey.masked_flux(i)
    some = spread_rows(flux, n).copy()
    keeping.remember(i, flux)
    return some


def learn_on_device(on_device: DeviceRecipe, survey: Survey) -> Recipe:
    """Fit the recipe to all spectra of a survey, on a GPU."""
    sizes = [record.rows for record in survey.manifest.blocks]
    return on_device.fit_blocks(lambda numbers: _flux(survey, numbers), sizes)


def compute_on(on_device: DeviceRecipe, features: FeatureSet, progress: Callable[[int, int], None] | None) -> None:
    """Compute the features of the blocks that have none yet, on a GPU, and write their files.

    Parameters
    ----------
    on_device : DeviceRecipe
        The fitted recipe on the GPU.
    features : FeatureSet
        The features of the survey; knows which blocks have a file.
    progress : callable or None
        Called with the blocks done, and in all.
    """
    survey = features.survey
    missing = [i for i in range(survey.n_blocks) if not features.file(i).exists()]
    found = on_device.transform_blocks(_flux(survey, missing)) if survey.precision == EXACT else None
    computed = _of_packed_blocks(on_device, survey, missing) if found is None else zip(missing, found, strict=True)

    def keep(one: tuple[int, BlockFeatures]) -> None:
        features.keep(one[0], one[1]._asdict())

    # written by threads: a checksum of every file takes as long as its features
    for n_done, _ in enumerate(compute_ahead(keep, computed, N_WRITERS), start=1):
        if progress:
            progress(survey.n_blocks - len(missing) + n_done, survey.n_blocks)


def _of_packed_blocks(
    on_device: DeviceRecipe, survey: Survey, blocks: Sequence[int]
) -> Iterator[tuple[int, BlockFeatures]]:
    """Give the number and the features of each block; many of them are one piece of work for the device."""
    layout, sizes = packed_rows(survey), [record.rows for record in survey.manifest.blocks]
    each = max(1, ROWS_AT_ONCE // survey.manifest.block_rows)
    batches = [[Part(i, sizes[i]) for i in blocks[start : start + each]] for start in range(0, len(blocks), each)]
    fill, row = partial(_gather_block, survey, layout), np.empty(layout.n_words, np.int16)
    computed = on_device.transform_filled(batches, row, fill, layout.to_flux, _n_readers())
    for batch, together in zip(batches, computed, strict=True):
        start = 0
        for i, n_rows in batch:
            rows = slice(start, start + n_rows)
            yield i, BlockFeatures(together.values[rows], together.lost_at[rows], together.n_bad[rows])
            start = rows.stop


def _flux(survey: Survey, blocks: Iterable[int]) -> Iterator[NDArray[np.float32]]:
    return compute_ahead(survey.masked_flux, blocks, _n_readers())


def _n_readers() -> int:
    """Threads that unpack blocks for a graphics card, which waits for them."""
    return min(max(available_cores(), 2), 16)


def packed_rows(survey: Survey) -> PackedRows:
    """Say how stored rows lie on a device, by the constants of the format."""
    n_pixels = survey.grid.n_pixels
    return PackedRows(
        n_pixels,
        SEGMENT,
        survey.manifest.block_rows,
        dither(n_pixels),
        steps_per_octave=STEPS_PER_OCTAVE,
        linear=LINEAR,
        per_octave=PER_OCTAVE,
        zero=ZERO,
    )


def _gather_block(survey: Survey, layout: PackedRows, i: int, into: NDArray[np.int16]) -> None:
    """Read what is stored of a block, for a device."""
    n_rows = survey.manifest.blocks[i].rows
    names = ("flux", "steps", "mask")
    codes, steps, mask = (stored_block(survey.path, name, i, survey.manifest)[:n_rows] for name in names)
    layout.gather(codes, steps, mask, into)


FOLDER = "features"


def features_of(
    survey: Survey,
    recipe: Recipe,
    refit: bool = False,
    progress: Progress | None = None,
    engine: AnyEngine = None,
    device: str | None = None,
) -> FeatureSet:
    """Compute the features of a survey under a recipe; what the survey keeps already is read.

    The recipe learns once from all spectra of the survey, and the survey keeps what it learned. When the survey grows,
    the new spectra are transformed as the old ones were, so the old features stay valid. If the features cannot be
    kept, in a survey that is read-only for instance, they are computed when needed and held in memory, and a warning
    says so. While the recipe learns, a temporary file in the directory of the survey holds filtered spectra, up to 8
    GB.

    Parameters
    ----------
    survey : Survey
        The survey.
    recipe : Recipe
        How features are made. It need not be fitted.
    refit : bool
        Learn anew from all spectra.
    progress : callable, optional
        Called with the blocks done, and in all.
    engine : address, client or engine, optional
        Where the blocks are computed: in threads of this process by default, or on a Dask cluster, given by its
        address, its client or as a DaskCluster. The features are the same to the last bit.
    device : str, optional
        "cuda" for a GPU; where there is none, a warning says so, and the CPU does the work.

    Returns
    -------
    FeatureSet
        The features, in the order of the survey.

    Raises
    ------
    SurveyError
        If the survey is empty, or fewer than 2 of its spectra are usable.
    UsageError
        If the recipe does not fit the grid of the survey.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import rarespec
    >>> from rarespec.features import PaperFeatures
    >>> with TemporaryDirectory() as folder:
    ...     survey = rarespec.Survey.create(f"{folder}/mock.survey")
    ...     report = survey.append(rarespec.MockSky(60, seed=1))
    ...     features = rarespec.features_of(survey, PaperFeatures())
    ...     print(len(features.values))
    60
    """
    if not len(survey):
        raise SurveyError(f"{survey.path}: an empty survey has no features; ingest spectra first")
    try:
        recipe = for_grid(recipe, survey.grid)
    except ValueError as error:
        raise UsageError(f"{survey.path}: {error}") from None
    try:
        return _features(survey, recipe, refit, progress, engine, device)
    except TooFewRowsError:
        raise SurveyError(
            f"{survey.path}: of {len(survey)} spectra, fewer than 2 are usable, too few to learn features from; "
            "ingest more spectra"
        ) from None


def _features(
    survey: Survey, recipe: Recipe, refit: bool, progress: Progress | None, engine: AnyEngine, device: str | None
) -> FeatureSet:
    keep_freed()
    state = Survey(survey.path, survey.manifest)  # the caller's object may be appended to
    home = _home(survey, recipe)
    features = None if refit else _open_kept(state, recipe, home)
    with engine_for(engine) as where:
        where.require(survey.path.absolute() / MANIFEST)
        if features is None and recipe.n_sample:  # while the GPU is opened, if there is one
            # a block is fetched from a store once: of what is read for the sample, the rest is for the features
            keeps = is_remote(state.path) and where.in_this_process and not device
            prepared = PreparedBlocks(state, recipe, in_memory=keeps)
            learn_from_sample(state, recipe, prepared if keeps else None)
            features = _with_model(state, recipe, home, prepared)
            give_back_freed()
        on_device = recipe_on(device, recipe)
        if on_device is not None:
            features = features or _with_model(state, learn_on_device(on_device, state), home)
            compute_on(on_device, features, progress)
        if features is None:
            features = _learn(state, recipe, home, progress, where)
        else:
            _compute_missing(features, progress, where)
    _sweep(features, home)
    return features


def features_by(
    survey: Survey,
    recipe: Recipe,
    progress: Progress | None = None,
    engine: AnyEngine = None,
    device: str | None = None,
) -> FeatureSet:
    """Compute the features that a model of another survey needs: under a recipe that learned elsewhere.

    They are kept until `features_of` makes room; then they are computed again when asked for.

    Parameters
    ----------
    survey : Survey
        The survey.
    recipe : Recipe
        Fitted on another survey.
    progress : callable, optional
        Called with the blocks done, and in all.
    engine : address, client or engine, optional
        Where the blocks are computed.
    device : str, optional
        "cuda" for a GPU.

    Returns
    -------
    FeatureSet
        The features, in the order of the survey.
    """
    state = Survey(survey.path, survey.manifest)
    content = npz(recipe.state())
    folder = _home(survey, recipe) / name_of_model(content)
    require_no_links(survey.path, folder)
    keep_if_possible(folder / MODEL, content)
    features = FeatureSet(state, recipe, folder, 0, PreparedBlocks(state, recipe))
    on_device = recipe_on(device, recipe)
    if on_device is not None:
        compute_on(on_device, features, progress)
    with engine_for(engine) as where:
        where.require(survey.path.absolute() / MANIFEST)
        _compute_missing(features, progress, where)
    return features


def _compute_missing(features: FeatureSet, progress: Progress | None, engine: Engine) -> None:
    if not features.folder.is_dir():  # it could not be made; blocks are computed when they are asked for
        return
    n_blocks, n_kept = features.survey.n_blocks, 0
    visits = (Visit(i) for i in range(n_blocks))  # as while learning: each goes to the worker that has kept its block
    for n_done, is_kept in enumerate(engine.map(_compute_block, features, visits), start=1):
        n_kept += is_kept
        if progress:
            progress(n_done, n_blocks)
    if n_kept < n_blocks and not engine.in_this_process:  # warnings of other processes are not seen here
        warnings.warn(
            f"{features.folder}: features of {n_blocks - n_kept} of {n_blocks} blocks could not be saved and will be "
            "computed again; check that the workers can write there",
            stacklevel=2,
        )
    _clear_remains(features)


def _compute_block(features: FeatureSet, visit: Visit) -> bool:
    """Compute a block unless its file is there; say whether the file is there now."""
    i = visit.block
    if i in features.held or features.file(i).exists():
        features.prepared.forget(i)  # the same model was learned once more
        return True
    features.compute(i)
    return features.file(i).exists()


def _clear_remains(features: FeatureSet) -> None:
    """Remove half-written files of processes that died, where another process has written the file since."""
    for path in features.folder.glob("*.tmp"):
        if path.with_name(path.name.partition(".npz")[0] + ".npz").exists():
            path.unlink(missing_ok=True)


def _home(survey: Survey, recipe: Recipe) -> Path:
    """Say where the features under this recipe are kept."""
    home = survey.path / FOLDER / recipe.fingerprint
    require_no_links(survey.path, home)
    return home


def _open_kept(survey: Survey, recipe: Recipe, home: Path) -> FeatureSet | None:
    """Open the features of the model learned earlier; None if there is none or, with a warning, if it is unusable."""
    folder = current_model(home)
    if folder is None:
        return None
    require_no_links(survey.path, folder)
    n_fitted = restore_model(folder, recipe, survey.grid.n_pixels)
    if n_fitted is None:
        return None
    if recipe.could_learn_more:
        grown = len(survey) > n_fitted
        too_few = f"{survey.path}: {n_fitted} spectra were too few to learn all the components requested"
        warnings.warn(f"{too_few}; learning them again from {len(survey)}" if grown else too_few, stacklevel=5)
        if grown:
            return None
    return FeatureSet(survey, recipe, folder, n_fitted, PreparedBlocks(survey, recipe))


def _learn(survey: Survey, recipe: Recipe, home: Path, progress: Progress | None, engine: Engine) -> FeatureSet:
    """Learn a new model in passes over blocks, whose preparation serves for the features too."""
    recipe.fit_preparation(sample_survey(partial(_read_some, survey), survey.n_blocks, 0))
    prepared = PreparedBlocks(survey, recipe)
    with prepared.keep(engine):
        recipe.fit_prepared(SurveyRows(prepared, engine))
        features = FeatureSet(survey, recipe, _keep_model(survey, recipe, home), len(survey), prepared)
        _compute_missing(features, progress, engine)
    return features


def _with_model(survey: Survey, recipe: Recipe, home: Path, prepared: PreparedBlocks | None = None) -> FeatureSet:
    """Keep what the recipe has learned, and open its features."""
    blocks = prepared or PreparedBlocks(survey, recipe)
    return FeatureSet(survey, recipe, _keep_model(survey, recipe, home), len(survey), blocks)


def _keep_model(survey: Survey, recipe: Recipe, home: Path) -> Path:
    """Keep the model if its directory can be written; return the directory."""
    content = model_content(recipe, len(survey))
    folder = home / name_of_model(content)
    require_no_links(survey.path, folder)
    if keep_if_possible(folder / MODEL, content):
        keep_if_possible(home / CURRENT, current_content(folder.name, repr(recipe), len(survey)))
    return folder


def _sweep(features: FeatureSet, home: Path) -> None:
    """Remove models that were replaced, and blocks as they were before the survey grew."""
    current = current_model(home)
    if current is None:  # it could not be kept
        return
    wanted = {block_file(record, i) for i, record in enumerate(features.survey.manifest.blocks)} | {MODEL}
    for path in home.iterdir():
        if path.is_dir() and path.name not in (current.name, features.folder.name):
            remove_tree(path)
    for path in features.folder.glob("*.npz"):
        if path.name not in wanted:
            path.unlink(missing_ok=True)
