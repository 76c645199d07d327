"""Streaming principal components against scikit-learn's, and against themselves however the rows arrive."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import array_api_strict
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.ndimage import median_filter
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from rarespec.features import rows as _rows
from rarespec.features.pca import passes as _moments
from rarespec.features.pca import passes as _readings
from rarespec.features.pca import solvers as _krylov
from rarespec.features.pca.components import StreamingPCA
from rarespec.mock import MockSky

Matrix = NDArray[np.floating]
SOLVERS = ("exact", "randomised")


def decaying(n: int, p: int, dtype: str = "f8", seed: int = 0, mean: float = 3.0) -> Matrix:
    """Rows with a decaying spectrum of variances and no ties, around a mean."""
    rng = np.random.default_rng(seed)
    directions = np.linalg.qr(rng.normal(size=(p, p)))[0]
    rows = rng.normal(size=(n, p)) * 0.7 ** np.arange(p) @ directions
    return (rows + mean * rng.normal(size=p)).astype(dtype)


def in_blocks(X: Matrix, *sizes: int) -> Callable[[], Iterator[Matrix]]:
    """X cut into blocks of these sizes; the last block takes the rest."""
    edges = [0, *np.cumsum(sizes).tolist(), len(X)]
    return lambda: (X[start:stop] for start, stop in pairwise(edges))


def filtered_mock(n: int, seed: int = 1) -> NDArray[np.float32]:
    """(n, 3601) float32 mock spectra, median-filtered, each from 0 to 1."""
    rows = []
    for spectra in MockSky(n - 20, {"carbon": 20}, seed=seed):
        smooth = median_filter(spectra.flux, size=(1, 7))
        low, high = smooth.min(axis=1, keepdims=True), smooth.max(axis=1, keepdims=True)
        rows.append((smooth - low) / (high - low))
    return np.concatenate(rows).astype("f4")


def captured(components: Matrix, X: Matrix) -> float:
    """Variance of X along the span of the components."""
    basis = np.linalg.qr(components.astype("f8").T)[0]
    return float(((X - X.mean(axis=0, dtype="f8")) @ basis).var(axis=0).sum())


def best_captured(X: Matrix, k: int) -> float:
    centred = X.astype("f8") - X.mean(axis=0, dtype="f8")
    gram = centred.T @ centred if X.shape[1] < len(X) else centred @ centred.T
    return float(np.linalg.eigvalsh(gram)[-k:].sum() / len(X))


def assert_same_fit(a: StreamingPCA, b: StreamingPCA, rtol: float = 1e-9) -> None:
    np.testing.assert_allclose(a.mean_, b.mean_, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(a.explained_variance_, b.explained_variance_, rtol=rtol)
    np.testing.assert_allclose(a.explained_variance_ratio_, b.explained_variance_ratio_, rtol=rtol)
    np.testing.assert_allclose(a.components_, b.components_, atol=100 * rtol)
    assert a.n_samples_seen_ == b.n_samples_seen_


@parametrize_with_checks([StreamingPCA(1, solver=solver, n_passes=4) for solver in SOLVERS])
def test_is_a_scikit_learn_transformer(estimator, check):
    check(estimator)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(3000, 40), (30, 90)], ids=["n > p", "n < p"])
@pytest.mark.parametrize(("dtype", "rtol", "atol"), [("f8", 1e-6, 1e-5), ("f4", 1e-4, 1e-3)])
def test_gives_what_scikit_learn_gives(solver, shape, dtype, rtol, atol):
    X = decaying(*shape, dtype)
    ours = StreamingPCA(8, solver=solver, oversampling=20, n_passes=4).fit(X)
    theirs = PCA(8, svd_solver="full").fit(X.astype("f8"))
    np.testing.assert_allclose(ours.mean_, theirs.mean_, rtol=1e-6)
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=rtol)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=rtol)
    np.testing.assert_allclose(ours.singular_values_, theirs.singular_values_, rtol=rtol)
    np.testing.assert_allclose(ours.components_, theirs.components_, atol=atol)  # the same signs, too
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=10 * atol)
    assert ours.transform(X).dtype == X.dtype == ours.fit_transform(X).dtype


def test_exact_solver_on_many_columns_agrees_with_a_dense_one(monkeypatch):
    monkeypatch.setattr(_krylov, "DENSE_SIZE", 100)
    monkeypatch.setattr(_krylov, "_dense", None)
    X = decaying(400, 300, seed=4)
    ours = StreamingPCA(20, solver="exact").fit(X)
    theirs = PCA(20, svd_solver="full").fit(X)
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-7)
    np.testing.assert_allclose(ours.components_, theirs.components_, atol=1e-5)


def test_leading_eigenpairs_of_equal_eigenvalues_are_all_found(monkeypatch):
    monkeypatch.setattr(_krylov, "DENSE_SIZE", 100)
    rng = np.random.default_rng(0)
    vectors = np.linalg.qr(rng.normal(size=(400, 400)))[0]
    values = np.concatenate([[5.0] * 4, [3.0] * 3, np.linspace(1, 0, 393)])
    found, directions = _krylov.leading_eigenpairs((vectors * values) @ vectors.T, 7, seed=0)
    np.testing.assert_allclose(found, values[:7], rtol=1e-10)
    np.testing.assert_allclose(directions.T @ directions, np.eye(7), atol=1e-10)


def test_leading_eigenpairs_of_a_slowly_falling_spectrum_are_accurate(monkeypatch):
    monkeypatch.setattr(_krylov, "DENSE_SIZE", 100)
    vectors = np.linalg.qr(np.random.default_rng(0).normal(size=(400, 400)))[0]
    values = np.linspace(2, 1, 400)
    matrix = (vectors * values) @ vectors.T
    found, directions = _krylov.leading_eigenpairs(matrix, 5, seed=0)
    np.testing.assert_allclose(found, values[:5], rtol=1e-12)
    np.testing.assert_allclose(matrix @ directions, directions * found, atol=1e-10)


def test_a_solver_that_does_not_converge_hands_over_to_the_dense_one(monkeypatch):
    monkeypatch.setattr(_krylov, "DENSE_SIZE", 100)
    X = decaying(300, 200, seed=2)
    converged = StreamingPCA(5, solver="exact").fit(X)
    monkeypatch.setattr(_krylov, "MAX_RESTARTS", 0)
    assert_same_fit(StreamingPCA(5, solver="exact").fit(X), converged, rtol=1e-7)


def test_orthonormal_columns_of_dependent_ones():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 8))
    for given in (columns, np.zeros((50, 8)), rng.normal(size=(50, 8)) * 10.0 ** -np.arange(8)):
        q = _krylov.orthonormal(given)
        np.testing.assert_allclose(q.T @ q, np.eye(8), atol=1e-12)
        np.testing.assert_allclose(q @ (q.T @ given), given, atol=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_blocks_of_any_size_give_what_the_whole_gives(solver, dtype, monkeypatch):
    monkeypatch.setattr(_rows, "PIECE_ROWS", 64)
    X = decaying(1000, 30, dtype)
    model = StreamingPCA(5, solver=solver)
    whole = clone(model).fit(X)
    for sizes in [(1,), (64, 1, 0, 63), (999,), (300, 300, 300)]:
        blocks = clone(model).fit_blocks(in_blocks(X, *sizes))
        assert_same_fit(blocks, whole, rtol=1e-10 if dtype == "f8" else 1e-5)


def test_an_iterator_that_is_used_up_is_refused():
    X = decaying(100, 10)
    once = iter([X[:50], X[50:]])
    with pytest.raises(ValueError, match="fresh iterator"):
        StreamingPCA(2, solver="randomised").fit_blocks(lambda: once)


def test_blocks_that_change_between_readings_are_refused():
    X, calls = decaying(100, 10), iter(range(100))
    with pytest.raises(ValueError, match="fresh iterator"):
        StreamingPCA(2, solver="randomised").fit_blocks(lambda: [X[: 90 - next(calls)]])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "blocks", [list, lambda: [np.full((3, 4), np.nan)], lambda: [np.ones((3, 4)), np.ones((3, 5))]]
)
def test_blocks_without_a_usable_row_or_of_unlike_widths_are_refused(solver, blocks):
    with pytest.raises(ValueError, match=r"no rows to fit|equally wide"):
        StreamingPCA(2, solver=solver).fit_blocks(blocks)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_rows_that_are_not_finite_are_left_out_counted_and_come_out_as_nan(solver, dtype):
    X = decaying(700, 20, dtype)
    X[[3, 600]] = np.nan
    X[5, 7], X[8, 0], X[9, 19] = np.nan, np.inf, -np.inf
    bad = np.zeros(700, bool)
    bad[[3, 5, 8, 9, 600]] = True
    model = StreamingPCA(4, solver=solver)
    together = model.fit_transform(X)
    assert (model.n_left_out_, model.n_samples_seen_) == (5, 695)
    assert_same_fit(model, clone(model).fit(X[~bad]), rtol=1e-9 if dtype == "f8" else 1e-5)
    for features in (together, model.transform(X)):
        assert np.isnan(features[bad]).all()
        np.testing.assert_allclose(features[~bad], model.transform(X[~bad]), atol=1e-9 if dtype == "f8" else 1e-3)


def test_rows_are_left_out_when_their_squares_overflow():
    X = np.full((4, 3), 2e18, "f4")
    X[1, 0], X[2, 1] = np.inf, 2e20
    assert _rows.finite_rows(X).tolist() == [True, False, False, True]


@pytest.mark.parametrize("solver", SOLVERS)
def test_constant_columns_and_constant_rows_are_no_obstacle(solver):
    X = decaying(300, 12)
    X[:, [2, 7]] = 5.0
    model = StreamingPCA(4, solver=solver).fit(X)
    np.testing.assert_allclose(model.components_[:, [2, 7]], 0, atol=1e-9)
    flat = StreamingPCA(3, solver=solver, whiten=True).fit(np.ones((20, 6)))
    assert flat.explained_variance_.max() <= 1e-20
    np.testing.assert_allclose(flat.components_ @ flat.components_.T, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(flat.transform(np.ones((2, 6))), 0, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("dtype", "rtol"), [("f4", 1e-2), ("f8", 1e-6)])
def test_small_variances_survive_a_large_mean(solver, dtype, rtol):
    small = decaying(3000, 20, mean=0.0)
    X = (small + 1e4).astype(dtype)
    ours = StreamingPCA(3, solver=solver, n_passes=4).fit(X)
    theirs = PCA(3, svd_solver="full").fit(X.astype("f8"))
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=rtol)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=rtol)


@pytest.mark.parametrize("solver", SOLVERS)
def test_of_more_components_than_there_are_directions_fewer_are_kept_and_told(solver):
    for (n, p), kept in {(10, 30): 9, (30, 10): 10}.items():
        with pytest.warns(UserWarning, match=f"{n} rows to learn from: {kept} components instead of 11"):
            model = StreamingPCA(11, solver=solver).fit(decaying(n, p))
        assert model.n_components_ == kept and model.explained_variance_[-1] > 1e-12
        assert model.could_learn_more == (kept < p)
    assert StreamingPCA(None, solver=solver).fit(decaying(30, 10)).n_components_ == 10


def test_a_state_that_no_model_can_have_is_refused():
    state = StreamingPCA(3, solver="randomised").fit(decaying(40, 30)).state()
    wrong = {
        "components": [np.ones((3, 29)), np.ones(30), np.full((3, 30), np.nan), np.ones((0, 30))],
        "mean": [np.ones(29), np.array(["a"] * 30)],
        "basis": [np.ones((3, 2))],
        "scatter": [np.ones(99), np.full(len(state["scatter"]), np.inf)],
        "n_samples_seen": [np.ones(2)],
    }
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(ValueError, match="not the state"):
                StreamingPCA(3).restore(state | {name: value})


@pytest.mark.parametrize("wrong", [{"solver": "svd"}, {"n_components": 0}, {"n_components": 0.5}, {"n_passes": 0}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        StreamingPCA(**wrong).fit(decaying(60, 55))


def test_auto_is_exact_for_few_columns_and_randomised_for_many():
    assert StreamingPCA(5).fit(decaying(40, 30)).solver_ == "exact"
    many = np.random.default_rng(0).normal(size=(40, 1200))
    assert StreamingPCA(5).fit(many).solver_ == "randomised"


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_same_seed_gives_the_same_bits(solver):
    X = decaying(1500, 50, "f4")
    first, second = (StreamingPCA(5, solver=solver, random_state=3).fit(X) for _ in range(2))
    assert np.array_equal(first.components_, second.components_)
    largest = np.abs(first.components_).argmax(axis=1)
    assert (first.components_[np.arange(5), largest] > 0).all()


def test_the_input_is_left_as_it_was():
    X = decaying(1200, 30, "f4")
    kept = X.copy()
    for solver in SOLVERS:
        StreamingPCA(3, solver=solver).fit(X).transform(X)
    assert np.array_equal(X, kept)


@pytest.mark.parametrize("solver", SOLVERS)
def test_whitened_features_have_unit_variance_and_no_correlation(solver):
    X = decaying(2000, 30)
    model = StreamingPCA(6, solver=solver, whiten=True, n_passes=5)
    features = model.fit_transform(X)
    np.testing.assert_allclose(np.cov(features.T), np.eye(6), atol=1e-7)
    np.testing.assert_allclose(features, model.transform(X), atol=1e-9)


@pytest.mark.parametrize("whiten", [False, True])
def test_inverse_transform_is_the_projection_onto_the_components(whiten):
    X = decaying(200, 20)
    model = StreamingPCA(20, solver="exact", whiten=whiten).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-6)
    few = StreamingPCA(3, whiten=whiten).fit(X)
    kept = (X - few.mean_) @ few.components_.T @ few.components_ + few.mean_
    np.testing.assert_allclose(few.inverse_transform(few.transform(X)), kept, atol=1e-9)


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
def test_weights_in_flux_space_give_the_same_scores(whiten, solver):
    X = decaying(300, 25)
    model = StreamingPCA(5, solver=solver, whiten=whiten).fit(X)
    weights = np.random.default_rng(1).normal(size=(2, 5))
    for given in (weights[0], weights):
        np.testing.assert_allclose((X - model.mean_) @ model.to_flux(given).T, model.transform(X) @ given.T, atol=1e-9)


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
def test_state_goes_round(solver, whiten, tmp_path):
    X = decaying(800, 20)
    model = StreamingPCA(4, solver=solver, whiten=whiten).fit(X[:500])
    np.savez(tmp_path / "pca.npz", **model.state())
    with np.load(tmp_path / "pca.npz", allow_pickle=False) as file:
        back = StreamingPCA.from_state(dict(file), solver=solver)
    assert_same_fit(back, model)
    assert np.array_equal(back.transform(X), model.transform(X))
    assert back.solver_ == solver and back.n_left_out_ == model.n_left_out_


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_transform_runs_on_any_array_library(dtype):
    X = decaying(300, 25, dtype)
    X[4, 4] = np.nan
    model = StreamingPCA(5, whiten=True).fit(X)
    strict = array_api_strict.asarray(X)
    features = model.transform(strict)
    assert features.dtype == getattr(array_api_strict, dtype)
    np.testing.assert_allclose(np.asarray(features), model.transform(X), rtol=1e-6)
    back = model.inverse_transform(features)
    np.testing.assert_allclose(np.asarray(back), model.inverse_transform(model.transform(X)), rtol=1e-5)
    with pytest.raises(ValueError, match="25"):
        model.transform(strict[:, :24])


def test_transform_runs_on_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X = decaying(300, 25, "f4")
    model = StreamingPCA(5).fit(X)
    np.testing.assert_allclose(model.transform(torch.from_numpy(X)).numpy(), model.transform(X), atol=1e-4)


def test_a_sample_is_uniform_over_the_stream_whatever_the_blocks():
    rows = np.arange(1000.0)[:, None]
    drawn = []
    for cuts in ([], [10, 500], list(range(1, 1000))):
        sample = _readings.Sample(100, np.random.default_rng(5))
        for part in np.split(rows, cuts):
            sample.look_at(part)
        drawn.append(sample.rows()[:, 0])
    assert len(np.unique(drawn[0])) == 100
    assert abs(drawn[0].mean() - 500) < 100
    assert len({len(np.unique(values)) for values in drawn}) == 1


def test_float32_scatter_is_as_good_as_float64():
    X = decaying(20_000, 30, "f4", mean=1.0)
    sums = _moments.Moments.of(_rows.RowStream(lambda: [X]))
    exact = np.cov(X.astype("f8").T)
    np.testing.assert_allclose(np.tril(sums.covariance()), np.tril(exact), atol=2e-7 * exact.max())


@pytest.fixture(scope="module")
def mock_rows() -> NDArray[np.float32]:
    return np.ascontiguousarray(filtered_mock(3000)[:, ::3])


@pytest.mark.parametrize("order", ["as they come", "sorted"])
def test_randomised_solver_captures_the_variance_of_spectra(mock_rows, monkeypatch, order):
    monkeypatch.setattr(_readings, "SAMPLE_ROWS", 512)
    X = mock_rows if order == "as they come" else mock_rows[np.argsort(mock_rows[:, 300])]
    model = StreamingPCA(50, solver="randomised").fit(X)
    assert captured(model.components_, X) >= 0.9999 * best_captured(X, 50)
    np.testing.assert_allclose(model.transform(X).var(axis=0, ddof=1), model.explained_variance_, rtol=1e-4)


def test_rows_without_leading_directions_are_fitted_with_a_warning():
    noise = np.random.default_rng(0).normal(size=(3000, 400))
    with pytest.warns(ConvergenceWarning, match="dominate"):
        StreamingPCA(5, solver="randomised", oversampling=2, tol=1e-9).fit(noise)


@pytest.mark.exhaustive
def test_randomised_solver_captures_the_variance_of_a_mock_survey():
    X = filtered_mock(20_000, seed=3)
    exact, randomised = (StreamingPCA(50, solver=solver).fit(X) for solver in SOLVERS)
    assert captured(randomised.components_, X) >= 0.9999 * captured(exact.components_, X)


FIT_FROM_DISK = """
import re, sys
from pathlib import Path
import numpy as np
from rarespec.features.pca.components import StreamingPCA

path, solver, n, p, rows = sys.argv[1], sys.argv[2], 100_000, 3601, 2000
def blocks():
    with open(path, "rb") as file:
        while len(block := np.fromfile(file, "f4", rows * p)):
            yield block.reshape(-1, p)
model = StreamingPCA(50, solver=solver).fit_blocks(blocks)
assert model.n_samples_seen_ == n
# Not resource.getrusage, which remembers the memory of the process that started this one.
peak = re.search("VmHWM: *([0-9]+) kB", Path("/proc/self/status").read_text().replace(chr(9), " "))[1]
print(int(peak) / 1024, model.explained_variance_ratio_.sum())
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from Linux's /proc")
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_large_matrix_on_disk_is_fitted_within_a_gigabyte(solver, tmp_path):
    rng = np.random.default_rng(0)
    patterns = rng.normal(size=(60, 3601)).astype("f4") * 0.9 ** np.arange(60, dtype="f4")[:, None]
    with open(tmp_path / "rows.f4", "wb") as file:
        for _ in range(50):
            rows = rng.standard_normal((2000, 60), "f4") @ patterns
            (rows + 0.01 * rng.standard_normal(rows.shape, "f4")).tofile(file)
    command = [sys.executable, "-c", FIT_FROM_DISK, str(tmp_path / "rows.f4"), solver]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    megabytes, ratio = map(float, ran.stdout.split())
    print(f"{solver}: peak memory {megabytes:.0f} MB")
    assert megabytes < 1000
    assert ratio > 0.99


@pytest.mark.parametrize("solver", ["exact", "randomised"])
def test_one_row_beyond_all_measure_is_left_out(solver):
    X = np.random.default_rng(0).normal(size=(300, 60)).astype(np.float32)
    X[7, 3] = 1e30
    pca = StreamingPCA(4, solver=solver).fit(X)
    assert pca.n_left_out_ == 1
    clean = StreamingPCA(4, solver=solver).fit(np.delete(X, 7, axis=0))
    assert np.allclose(np.abs(pca.components_), np.abs(clean.components_), atol=1e-4)
