"""Taking times: rounds are interleaved and the best one counts, since machines are noisy."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

Contenders = dict[str, Callable[[], Any]]


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds and the result."""
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def best_of(contenders: Contenders, rounds: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Best seconds and the last result of each."""
    seconds, results = dict.fromkeys(contenders, float("inf")), {}
    for _ in range(rounds):
        for name, function in contenders.items():
            taken, results[name] = timed(function)
            seconds[name] = min(seconds[name], taken)
    return seconds, results
