"""The neighbour graph of a survey's features: built once, kept with the survey, grown when it grows.

    SURVEY/graphs/RECIPE/MODEL/FINGERPRINT-kK.npz      the K nearest neighbours of every spectrum that has features

RECIPE and MODEL are the names under which the features are kept, and FINGERPRINT is that of the features themselves:
a graph can never be taken for that of other features.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import SurveyError
from rarespec.gpu.device import usable_device
from rarespec.gpu.exact_neighbours import neighbours_on
from rarespec.gpu.many_rows import OnDevice
from rarespec.progress import Progress
from rarespec.rankers.auto.signal import SPACES, WIDE, Signal, SignalSpace, signal_of_rows
from rarespec.rankers.neighbours.exact import pair_distances
from rarespec.rankers.neighbours.neighbour_graph import NeighbourGraph, extend_neighbours, require_neighbours
from rarespec.rankers.rows import fingerprint_of_rows
from rarespec.survey.features.feature_set import FeatureSet
from rarespec.survey.features.kept import Arrays, check_array, keep_if_possible, make_of_kept, npz, require_no_links
from rarespec.survey.store.location import remove_tree

FOLDER = "graphs"
FILE_NAME = re.compile(r"(?P<fingerprint>[0-9a-f]{32})-k(?P<k>\d+)\.npz")

ROUNDING = 1e-4
"""Relative difference of distances that single precision explains."""


def graph_of(
    features: FeatureSet, k: int = 5, progress: Progress | None = None, device: str | None = None
) -> NeighbourGraph:
    """Find the k nearest neighbours of every usable spectrum; a graph that the survey keeps already is read.

    Spectra without features are left out: row i of the graph is row `rows_of_graph(features)[i]` of the survey, and
    `features.usable_values` is the matrix to fit a ranker on together with the graph. When the survey has grown, the
    graph of its earlier state is extended. If the graph cannot be kept, a warning says so.

    Parameters
    ----------
    features : FeatureSet
        The features in which spectra are compared.
    k : int
        How many neighbours; at most one less than there are usable spectra.
    progress : callable, optional
        Called with the rows done, and in all.
    device : str, optional
        "cuda" for a GPU, where the search is exact.

    Returns
    -------
    NeighbourGraph
        Neighbours and distances of each usable spectrum.

    Raises
    ------
    SurveyError
        If no spectrum has features.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import rarespec
    >>> with TemporaryDirectory() as folder:
    ...     survey = rarespec.Survey.create(f"{folder}/mock.survey")
    ...     report = survey.append(rarespec.MockSky(60, seed=1))
    ...     graph = rarespec.graph_of(survey.features(), k=5)
    >>> graph.n_neighbours
    5
    """
    require_neighbours(k)
    X = features.usable_values  # before `usable`, which is then known without reading again
    rows = rows_of_graph(features)
    if not len(rows):
        raise SurveyError(f"{features.survey.path}: no spectrum has features, so there is no neighbour graph")
    k = min(k, len(rows) - 1)
    home = graphs_home(features)
    graph = _open_kept(home, features.fingerprint, k)
    if graph is None:
        graph = _grow_earlier(home, X, rows, k, progress) or neighbours_on(device, X, max(k, 1), progress)
        path = home / f"{graph.fingerprint}-k{graph.n_neighbours}.npz"
        if keep_if_possible(path, npz(graph_arrays(graph, rows))):
            _sweep(home, graph, rows, features)
    return graph.nearest(k) if k else graph


def graphs_home(features: FeatureSet) -> Path:
    """Say where graphs of these features are kept."""
    home = features.survey.path / FOLDER / features.folder.parent.name / features.folder.name
    require_no_links(features.survey.path, home)
    return home


def rows_of_graph(features: FeatureSet) -> NDArray[np.int64]:
    """Find the row in the survey of each row of the graph, (n_usable,) int64."""
    return np.flatnonzero(features.usable)


def _open_kept(home: Path, fingerprint: str, k: int) -> NeighbourGraph | None:
    """Open a graph of exactly these features with enough neighbours, if one is kept and can be read."""
    found = (_read_graph(path) for path, kept, kept_k in _files(home) if kept == fingerprint and kept_k >= k)
    return next((graph for graph, _ in filter(None, found)), None)


def _files(home: Path) -> Iterator[tuple[Path, str, int]]:
    """Files of graphs, with the fingerprint and the number of neighbours in their names."""
    for path in sorted(home.glob("*.npz")):
        match = FILE_NAME.fullmatch(path.name)
        if match:
            yield path, match["fingerprint"], int(match["k"])


def _read_graph(path: Path) -> tuple[NeighbourGraph, NDArray[np.int64]] | None:
    """Read a graph and its rows in the survey; None if the file is damaged."""
    return make_of_kept(path, partial(_graph_and_rows, path))


def _graph_and_rows(path: Path, kept: Arrays) -> tuple[NeighbourGraph, NDArray[np.int64]]:
    match = FILE_NAME.fullmatch(path.name)
    n = len(kept["rows"])
    rows = check_array(kept, "rows", np.int64, (n,), 0)
    if not (np.diff(rows) > 0).all():
        raise ValueError("its rows are not in order")
    graph = graph_from(kept, n)
    if match is None or (graph.fingerprint, graph.n_neighbours) != (match["fingerprint"], int(match["k"])):
        raise ValueError("it belongs to another graph")
    return graph, rows


def graph_from(kept: Arrays, n: int) -> NeighbourGraph:
    """Rebuild the graph of n rows from `graph_arrays`; raise a ValueError if it names rows that do not exist."""
    k = kept["indices"].shape[-1] if kept["indices"].ndim == 2 else 0
    indices = check_array(kept, "indices", np.int32, (n, k), 0, n - 1)
    distances = check_array(kept, "distances", np.float32, (n, k), 0, float(np.finfo(np.float32).max))
    recall = check_array(kept, "recall", np.float64, (), 0, 1)
    return NeighbourGraph(indices, distances, float(recall), str(kept["fingerprint"]))


def _grow_earlier(
    home: Path, X: NDArray[np.float32], rows: NDArray[np.int64], k: int, progress: Progress | None
) -> NeighbourGraph | None:
    """Extend the graph of an earlier state; None if there is none, or one so small that building anew is as quick."""
    of_now = fingerprint_of_rows(X)
    for path, fingerprint, kept_k in _files(home):
        if fingerprint == of_now or kept_k < max(k, 1):
            continue
        found = _read_graph(path)
        if found is None:
            continue
        graph, earlier = found
        n = len(earlier)
        if len(rows) / 2 <= n <= len(rows) and np.array_equal(earlier, rows[:n]) and _distances_hold(graph, X):
            # a block that grew is computed anew, and its features may differ by rounding: the graph is still theirs
            same = replace(graph, fingerprint=fingerprint_of_rows(X[:n]))
            return extend_neighbours(same, X, progress)
    return None


def _distances_hold(graph: NeighbourGraph, X: NDArray[np.float32]) -> bool:
    """Check that the first rows of X are as far apart as the graph says."""
    n, k = graph.indices.shape
    apart = pair_distances(X, np.repeat(np.arange(n), k), X, graph.indices.ravel().astype(np.int64))
    scale = float(np.abs(X).max(initial=0.0))
    return np.allclose(apart, graph.distances.ravel(), rtol=ROUNDING, atol=ROUNDING * scale)


def graph_arrays(graph: NeighbourGraph, rows: NDArray[np.int64]) -> Arrays:
    return {
        "indices": graph.indices,
        "distances": graph.distances,
        "rows": rows,
        "recall": np.array(graph.recall),
        "fingerprint": np.array(graph.fingerprint),
    }


def _sweep(home: Path, graph: NeighbourGraph, rows: NDArray[np.int64], features: FeatureSet) -> None:
    """Remove graphs of earlier states, those that this one holds within it, and those of models that were replaced.

    A graph of a later state stays: whoever asks for this one may hold an earlier state of the survey.
    """
    for path, fingerprint, k in _files(home):
        if fingerprint == graph.fingerprint and k >= graph.n_neighbours:
            continue
        found = _read_graph(path)
        if found is None or np.array_equal(found[1], rows[: len(found[1])]):
            path.unlink(missing_ok=True)
    for other in home.parent.iterdir():
        if not (features.folder.parent / other.name).is_dir():
            remove_tree(other)


# ---- The space of signal of a survey and the graph in it, which Auto follows: found once, kept with the survey.
#
#     SURVEY/graphs/RECIPE/MODEL/signal/FINGERPRINT-walksK.npz     of up to 200 000 spectra
#     SURVEY/graphs/RECIPE/MODEL/signal/FINGERPRINT-groupedK.npz   of more, with cells instead of graphs
#     SURVEY/graphs/RECIPE/MODEL/signal/FINGERPRINT-spaceK.npz     of more, the space alone: a GPU compares all rows
#
# FINGERPRINT is that of the features, from which alone both are learned. When the survey grows, the space changes a
# little everywhere, and both are found anew.


SIGNAL_FOLDER = "signal"
CELLS, GIVEN = "cells_", "given_"
MOST = float(np.finfo(np.float64).max)
OF_SPACE = tuple(field.name for field in fields(SignalSpace))


def signal_of(features: FeatureSet, k: int = 5, device: str | None = None) -> Signal:
    """Find the space of signal of a survey, and the graph in it; read what the survey keeps already.

    Parameters
    ----------
    features : FeatureSet
        Features of the survey; only usable spectra take part.
    k : int
        Neighbours between which noise is measured.
    device : str, optional
        GPU that finds the neighbours. By default the CPU.

    Returns
    -------
    Signal
        The space and the graph; for many spectra, cells instead of the graph.
    """
    X = features.usable_values
    rows = rows_of_graph(features)
    there = usable_device(device)
    kind = "walks" if len(X) <= WIDE else "space" if there else "grouped"
    folder = graphs_home(features) / SIGNAL_FOLDER
    path = folder / f"{features.fingerprint}-{kind}{k}.npz"
    require_no_links(features.survey.path, folder)
    kept = make_of_kept(path, partial(_signal_from, kind, *X.shape))
    if kept is not None:
        return replace(kept, search=OnDevice(there).among(X, kept.space)) if there and kind == "space" else kept
    signal = signal_on(there, X, k)
    arrays = {name: np.array(getattr(signal.space, name)) for name in OF_SPACE}
    for part, cells in (signal.cells or {}).items():
        arrays |= {f"{part}_{CELLS}{name}": values for name, values in cells.items()}
    if signal.graph is not None and signal.given is not None:
        arrays |= graph_arrays(signal.graph, rows)
        arrays |= {f"{GIVEN}{name}": values for name, values in graph_arrays(signal.given, rows).items()}
    if keep_if_possible(path, npz(arrays)):
        # what the CPU and a GPU keep stays, whichever searches next
        wanted = {path} | {folder / f"{features.fingerprint}-{other}{k}.npz" for other in ("grouped", "space")}
        for other in set(folder.glob("*.npz")) - wanted:
            other.unlink(missing_ok=True)
    return signal


def signal_on(device: str | None, X: NDArray[np.float32], k: int = 5) -> Signal:
    """Find the space of signal of rows, and the graph in it, on a GPU where there is one.

    Parameters
    ----------
    device : str or None
        Usable GPU, or None for the CPU.
    X : (n, d) float32
        Feature vectors, all finite.
    k : int
        Neighbours between which noise is measured.

    Returns
    -------
    Signal
        The space and the graph; for many rows, a way to search them instead of the graph.
    """
    return signal_of_rows(X, k, OnDevice(device) if device else None)


def _signal_from(kind: str, n: int, d: int, kept: Arrays) -> Signal:
    """Rebuild the signal of n rows of d features; raise a ValueError for arrays that cannot be theirs."""
    space = SignalSpace(
        check_array(kept, "mean", np.float64, (d,), -MOST, MOST),
        check_array(kept, "whitening", np.float64, (d, d), -MOST, MOST),
        check_array(kept, "noise", np.float64, (d,), 0, 1),
        float(check_array(kept, "usual_reach", np.float64, (), -MOST, MOST)),
    )
    if n <= WIDE:
        return Signal(n, space, graph_from(kept, n), graph_from(_after(GIVEN, kept), n))
    cells = {name: _cells_from(n, d, _after(f"{name}_{CELLS}", kept)) for name in SPACES} if kind == "grouped" else None
    return Signal(n, space, None, None, cells)


def _after(prefix: str, kept: Arrays) -> Arrays:
    """Take the arrays whose names begin with this prefix, without it."""
    return {name.removeprefix(prefix): values for name, values in kept.items() if name.startswith(prefix)}


def _cells_from(n: int, d: int, cells: Arrays) -> Arrays:
    """Check what `group_in_cells` gave for n rows; faiss itself would read wherever a wrong number points."""
    n_cells = len(cells["centroids"])
    single = float(np.finfo(np.float32).max)
    check_array(cells, "centroids", np.float32, (n_cells, d), -single, single)
    by_cell = check_array(cells, "by_cell", np.int32, (n,), 0, n - 1)
    if (np.bincount(by_cell, minlength=n) != 1).any():
        raise ValueError("by_cell has rows twice")
    starts = check_array(cells, "starts", np.int64, (n_cells + 1,), 0, n)
    if starts[0] != 0 or starts[-1] != n or (np.diff(starts) < 0).any():
        raise ValueError("starts do not rise from the first row to the last")
    check_array(cells, "centre", np.float64, (d,), -MOST, MOST)
    check_array(cells, "scale", np.float64, (), float(np.finfo(np.float64).tiny), MOST)
    check_array(cells, "n_probes", np.int64, (), 1, n_cells)
    check_array(cells, "recall", np.float64, (), 0, 1)
    return cells
