"""Blocks that are looked at where they are teach a learner what a plain stream of the same rows does."""

from dataclasses import dataclass

import numpy as np
import pytest

from rarespec.features import MinMax, Recipe, SideBySide, StreamingPCA
from rarespec.features.pca.passes import BlockPasses
from rarespec.features.rows import RowBlocks


@dataclass
class InMemory:
    blocks: list

    @property
    def sizes(self):
        return [len(block) for block in self.blocks]

    def __call__(self):
        return iter(self.blocks)

    def map(self, look, shared, own):
        for block, one in zip(self.blocks, own, strict=True):
            block.flags.writeable = False
            yield look(shared, one, block)


def rows_of(n, dtype="f4", mean=0.0, p=200):
    rng = np.random.default_rng(4)
    signal = rng.normal(0, 1, (n, 6)) * [9, 7, 5, 4, 3, 2] @ np.linalg.qr(rng.normal(0, 1, (p, 6)))[0].T
    return (mean + signal + rng.normal(0, 0.05, (n, p))).astype(dtype)


def cut(X, *ends):
    return InMemory([block.copy() for block in np.split(X, ends)])


def same_space(a, b):
    return np.allclose(np.linalg.svd(a.components_ @ b.components_.T)[1], 1, atol=1e-5)


@pytest.mark.parametrize("solver", ["exact", "randomised"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("mean", [0.0, 50.0], ids=["centred after the product", "centred before"])
def test_the_result_is_that_of_the_rows_as_a_whole(solver, dtype, mean):
    X = rows_of(1500, dtype, mean)
    X[[3, 700, 1499], 5] = np.nan, np.inf, np.nan
    whole = StreamingPCA(6, solver=solver).fit(X)
    blocks = cut(X, 400, 401, 401, 1300)
    assert isinstance(blocks, RowBlocks)
    there = StreamingPCA(6, solver=solver).fit_blocks(blocks)
    assert (there.n_samples_seen_, there.n_left_out_, there.solver_) == (1497, 3, solver)
    assert same_space(there, whole)
    np.testing.assert_allclose(there.mean_, whole.mean_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(there.explained_variance_, whole.explained_variance_, rtol=1e-4)
    np.testing.assert_allclose(there.explained_variance_ratio_, whole.explained_variance_ratio_, rtol=1e-4)


@pytest.mark.parametrize("solver", ["exact", "randomised"])
def test_where_few_rows_are_finite_the_sample_is_drawn_among_those(solver):
    X = rows_of(6000, p=60)
    lost = np.ones(len(X), bool)
    lost[[*range(4000, 4100), 17]] = False
    X[lost] = np.nan
    blocks = cut(X, 2000, 4050)
    _, sample = BlockPasses(blocks).mean_and_sample(np.random.default_rng(0))
    assert np.array_equal(sample, X[~lost])
    there = StreamingPCA(6, solver=solver).fit_blocks(blocks)
    assert there.n_samples_seen_ == 101
    assert same_space(there, StreamingPCA(6, solver="exact").fit(X[~lost]))


@pytest.mark.parametrize("solver", ["exact", "randomised"])
def test_no_finite_row_is_refused(solver):
    with pytest.raises(ValueError, match="no rows to fit: none of 30 rows"):
        StreamingPCA(2, solver=solver).fit_blocks(cut(np.full((30, 8), np.nan), 20))


def test_steps_that_come_before_are_applied_there():
    X = rows_of(900)
    recipe = Recipe([MinMax(), StreamingPCA(6, solver="randomised"), SideBySide([StreamingPCA(2), Recipe([MinMax()])])])
    there = recipe.fit_blocks(cut(X, 250, 600)).transform(X)
    stream = Recipe(recipe.steps).fit_blocks(lambda: np.split(X, [250, 600])).transform(X)
    np.testing.assert_allclose(there, stream, atol=1e-3 * np.abs(stream).max())
