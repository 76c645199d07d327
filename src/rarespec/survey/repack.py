"""A survey written anew in another precision; the old one stays as it is."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from rarespec.errors import UsageError
from rarespec.progress import Progress
from rarespec.spectrum import Spectra
from rarespec.survey.store import arrays
from rarespec.survey.store.commit import recover
from rarespec.survey.store.location import content_of, location
from rarespec.survey.store.manifest import DEFECTS, Manifest
from rarespec.survey.store.manifest import NAME as MANIFEST
from rarespec.survey.store.precision import Precision
from rarespec.survey.store.writer import SurveyWriter, provenance_entry, refuse_other_directories
from rarespec.survey.survey import Survey

ACTION = "repack"


def repack(
    survey: Survey | str | os.PathLike[str],
    into: str | os.PathLike[str],
    precision: Precision | str = "noise",
    progress: Progress | None = None,
) -> Survey:
    """Write a survey anew in another precision, with the same ids, catalogue, order and history.

    If it was interrupted, do the same again, and it goes on. Features are not taken along; the next search computes
    them.

    Parameters
    ----------
    survey : Survey, path or str
        The survey, or where it is. It stays as it is.
    into : path or str
        The directory of the new survey.
    precision : Precision or str
        ``"noise"``, ``"noise:0.2"`` or ``"exact"``. What was rounded stays rounded.
    progress : callable, optional
        Called with the spectra done, and in all.

    Returns
    -------
    Survey
        The new survey.

    Raises
    ------
    UsageError
        If the survey has this precision already, or something else is in the directory.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import rarespec
    >>> with TemporaryDirectory() as folder:
    ...     survey = rarespec.Survey.create(f"{folder}/exact.survey", precision="exact")
    ...     report = survey.append(rarespec.MockSky(60, seed=1))
    ...     print(rarespec.repack(survey, f"{folder}/small.survey").precision)
    noise
    """
    old = survey if isinstance(survey, Survey) else Survey.open(survey)
    wanted = Precision.parse(precision) if isinstance(precision, str) else precision
    if wanted == old.precision:
        raise UsageError(f"{old.path}: has the precision {wanted} already; copy the directory if you need it twice")
    root, manifest = location(into), old.manifest
    _refuse_another(root, old, wanted)
    grid = old.grid if manifest.has_grid else None
    with SurveyWriter(root, grid, manifest.rest_frame, manifest.block_rows, wanted) as writer:
        entry = provenance_entry(ACTION, source=_source(manifest), before=str(old.precision), after=str(wanted))
        files = {DEFECTS: content_of(old.path / DEFECTS)} if DEFECTS in manifest.files else {}
        for spectra in _blocks_from(old, writer.manifest.n_rows):
            writer.add(spectra)
            writer.commit(files, manifest.unfinished, (*manifest.provenance, entry))
            if progress:
                progress(writer.manifest.n_rows, len(old))
        if not len(old):
            writer.commit(files, manifest.unfinished, (*manifest.provenance, entry))
    return Survey.open(root)


def _source(manifest: Manifest) -> str:
    """Tell surveys apart by what they hold."""
    held = hashlib.sha256(manifest.to_bytes()).hexdigest()
    return f"generation {manifest.generation} of {manifest.n_rows} spectra, {held[:16]}"


def _refuse_another(root: Path, old: Survey, wanted: Precision) -> None:
    """Go on only where nothing is, or with a survey that was begun by packing this one."""
    refuse_other_directories(root)
    if not root.exists():
        return
    recover(root)
    if not (root / MANIFEST).exists():
        return
    begun = Manifest.load(root)
    last = begun.provenance[-1] if begun.provenance else {}
    if last.get("action") != ACTION or last.get("source") != _source(old.manifest) or begun.precision != wanted:
        raise UsageError(f"{root}: already holds another survey; choose another directory")


def _blocks_from(survey: Survey, start: int) -> Iterator[Spectra]:
    """Read the spectra from this row on, block by block, with all their catalogue columns."""
    manifest = survey.manifest
    for i in range(-(-start // manifest.block_rows), survey.n_blocks):  # whole blocks were published
        flux, ivar, mask = (arrays.block_values(survey.path, name, i, manifest) for name in arrays.VALUES)
        bad = arrays.unpack(mask, survey.grid.n_pixels)
        yield Spectra(survey.grid.wavelength, flux, ivar, bad, survey.catalogue.block(i).to_pydict())
