"""Bytes moved by searches of a survey on an object store: on threads of this machine, and on clusters of processes.

    python benchmarks/cluster.py [--n 100000] [--workers 0 2 8] [--surveys FOLDER]

A mock survey with carbon stars, of which 10 are known, is copied to an S3 server (moto) in a process of its own, which
notes every request. Each engine searches it with nothing kept, and then again; 0 workers are threads of this process.
Printed are requests, MB that left the store, their ratio to the bytes of the survey, how often a block of flux was read
as a whole, and what this process sent to the workers and got back. The peer is a copy of the survey: ratio 1. Every
engine must give the ids and scores of the first one, to the last bit.

It needs `pip install 'rarespec[test]'`.
"""

from __future__ import annotations

import argparse
import pickle
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from counted_store import CountedStore, Request, readings, store_here
from dask_clusters import cluster_here
from growth import N_KNOWN, survey_of
from rarespec.engines import DaskCluster, Here
from rarespec.survey import Survey
from rarespec.survey.store.location import location, remove_tree, sizes_below

TOP = 100
HEAD = (
    f"{'workers':>7s} {'search':>6s} {'requests':>8s} {'MB read':>8s} {'of survey':>9s} {'of flux':>7s}   "
    f"{'readings of blocks of flux':27s}   {'MB sent, got back':>17s}"
)


class Weighed:
    """An engine; counts the bytes that go from this process to the workers, and back."""

    def __init__(self, engine: DaskCluster) -> None:
        self.engine = engine
        self.in_this_process = engine.in_this_process
        self.sent = self.back = 0

    def require(self, path: Path) -> None:
        self.engine.require(path)

    def map(self, function: Callable[..., Any], shared: Any, items: Iterable[Any]) -> Iterator[Any]:
        self.sent += len(pickle.dumps((function, shared)))
        for result in self.engine.map(function, shared, map(self._weigh, items)):
            self.back += len(pickle.dumps(result))
            yield result

    def _weigh(self, item: Any) -> Any:
        self.sent += len(pickle.dumps(item))
        return item


def answers(url: str, known: list[str], n_workers: int, store: CountedStore, sizes: dict[str, int]) -> list[Any]:
    """Of a first search and of a later one; prints what they moved."""
    with ExitStack() as stack:
        engine: Any = Here()
        if n_workers:
            cluster = stack.enter_context(cluster_here(n_workers=n_workers))
            engine = Weighed(stack.enter_context(DaskCluster(cluster.scheduler_address)))
        store.noted()
        return [answer(url, known, engine, f"{n_workers:7d} {when:>6s}", store, sizes) for when in ("first", "later")]


def answer(url: str, known: list[str], engine: Any, title: str, store: CountedStore, sizes: dict[str, int]) -> Any:
    import rarespec

    sent, back = (engine.sent, engine.back) if isinstance(engine, Weighed) else (0, 0)
    ranking = rarespec.search(url, known, top=TOP, engine=engine)
    moved = "" if engine.in_this_process else f"{(engine.sent - sent) / 1e6:.1f}, {(engine.back - back) / 1e6:.1f}"
    print(f"{title} {told(store.noted(), sizes)}   {moved:>17s}", flush=True)
    return ranking.table["id"].tolist(), ranking.scores.tobytes()


def told(requests: list[Request], sizes: dict[str, int]) -> str:
    read = sum(one.sent for one in requests)
    of_flux = sum(one.sent for one in requests if "/flux/c/" in one.key) / bytes_of("flux/c/", sizes)
    times = Counter(readings(requests, "flux").values())
    said = ", ".join(f"{n} blocks {k} x" for k, n in sorted(times.items())) or "none"
    return f"{len(requests):8d} {read / 1e6:8.1f} {read / bytes_of('', sizes):9.2f} {of_flux:7.2f}   {said:27s}"


def bytes_of(beginning: str, sizes: dict[str, int]) -> int:
    return sum(size for name, size in sizes.items() if name.startswith(beginning))


def compare(survey: Survey, workers: list[int]) -> None:
    rare = np.sort(survey.ids[survey.catalogue["class"] == "CARBON"].astype(str))
    known = np.random.default_rng(1).choice(rare, N_KNOWN, replace=False).tolist()
    sizes = sizes_below(survey.path)
    with store_here() as store:
        url = store.upload(survey.path)
        total, flux = bytes_of("", sizes) / 1e6, bytes_of("flux/c/", sizes) / 1e6
        print(f"{len(survey)} spectra in {survey.n_blocks} blocks: {total:.0f} MB, of which {flux:.0f} MB flux\n{HEAD}")
        found: dict[int, list[Any]] = {}
        for n in workers:
            for kept in ("features", "graphs"):
                remove_tree(location(f"{url}/{kept}"))
            found[n] = answers(url, known, n, store, sizes)
            if not all(one == found[workers[0]][0] for one in found[n]):
                raise SystemExit(f"{n} workers gave another answer than {workers[0]}")
    print(f"{len(workers)} engines, {2 * len(workers)} searches: the same {TOP} ids and all scores, to the last bit")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 2, 8])
    parser.add_argument("--surveys", type=Path, help="where the mock survey is kept, or is made")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kept = asked.surveys or Path(folder)
        kept.mkdir(parents=True, exist_ok=True)
        compare(survey_of(asked.n, kept), asked.workers)


if __name__ == "__main__":
    main()
