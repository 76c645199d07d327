"""Run as a script: one process stops at each of its file-system calls, and there another one runs from start to end.

    python two_processes.py ORDER SAMPLE

ORDER is `look` (open, verify and read everything while another appends), `search` (compute features meanwhile), `write`
(append meanwhile) or `grow` (append while another computes features). SAMPLE is at how many calls, 0 means at every
one.
Prints a JSON object: how many calls there are, at how many another process ran, and what was wrong.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from changes import CHANGES, SURVEY, State, copied, features_digest, is_between, prepared, small_blocks, state_of
from fault_injection import IN_MEMORY, load, spread
from file_system_calls import watch
from forked import Ended, in_child, started

from rarespec.survey import Survey


class Paused:
    """A process that waits before each of its file-system calls below a folder."""

    def __init__(self, run, folder: Path) -> None:
        told, self._tell = os.pipe()
        self._wait, go_on = os.pipe()

        def paused():
            def act(kind, path, half):
                if (kind, path) != ("open", str(folder)):
                    os.write(self._tell, f"{kind} {os.path.relpath(path, folder)}\n".encode())
                    os.read(self._wait, 1)

            watch(folder, act)
            return run(folder)

        self._end = started(paused)
        for end in (self._tell, self._wait):
            os.close(end)
        self._calls, self._go_on = os.fdopen(told, "rb", buffering=0), go_on

    def calls(self):
        """Each call, before it happens; it happens when the next is asked for."""
        while call := self._calls.readline():
            yield call.decode().strip()
            try:
                os.write(self._go_on, b".")
            except BrokenPipeError:  # it has died; `ended` says of what
                return

    def ended(self) -> Ended:
        self._calls.close()
        os.close(self._go_on)
        return self._end()


def calls_of(run, folder: Path) -> list[str]:
    """All of them, when nothing comes between."""
    alone = Paused(run, folder)
    calls = list(alone.calls())
    alone.ended()
    return calls


class Meeting:
    """Two processes at one survey."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.append, self.features = CHANGES["append"], CHANGES["features"]
        self.start = prepared(self.append, home / "start")
        self.before: State = in_child(lambda: state_of(self.start)).result
        end = copied(self.start, home / "end")
        load(in_child(lambda: (self.append.run(end), self.features.run(end), list(sys.modules))).result[2])
        self.after: State = in_child(lambda: state_of(end)).result
        self._of_first: dict[int, str] = {}

    def features_of_first(self, n: int) -> str:
        """Features of a survey that never had more than the first n spectra."""

        def compute():
            with tempfile.TemporaryDirectory(dir=self.home) as folder:
                first = Survey.open(self.home / "end" / SURVEY).at(np.arange(n))
                survey = Survey.create(Path(folder) / SURVEY, Survey.open(self.home / "end" / SURVEY).grid)
                survey.append(first)
                return features_digest(survey)[1]

        if n not in self._of_first:
            self._of_first[n] = in_child(compute).result
        return self._of_first[n]

    def while_appending(self, meanwhile, sample: int):
        """One append, during which another process does this at many of its calls."""
        folder = copied(self.start, self.home / "trial")
        n_calls = len(calls_of(self.append.run, folder))
        chosen = set(spread(n_calls, sample))
        folder = copied(self.start, self.home / "trial")
        appending = Paused(self.append.run, folder)
        wrong = []
        for step, call in enumerate(appending.calls(), start=1):
            if step in chosen:
                wrong += [f"at call {step}, {call}: {what}" for what in meanwhile(folder)]
        ended = appending.ended()
        if ended.code:
            wrong.append(f"the append ended with {ended.code}: {ended.said[-300:]}")
        if in_child(lambda: state_of(folder)).result != self.after:
            wrong.append("at the end: not what an undisturbed append gives")
        return n_calls, len(chosen), wrong

    def look(self, folder: Path):
        seen = in_child(lambda: state_of(folder))
        if seen.code:
            yield seen.said[-300:]
        elif not is_between(seen.result, self.before, self.after, while_changing=True):
            yield "a mixture of two states"

    def search(self, folder: Path):
        """Learns anew each time, so that the features are those of the state that was found."""
        found = in_child(lambda: features_digest(Survey.open(folder / SURVEY), refit=True))
        if found.code:
            yield found.said[-300:]
        elif found.result[1] != self.features_of_first(found.result[0]):
            yield f"features of {found.result[0]} spectra differ"

    def write(self, folder: Path):
        ended = in_child(lambda: self.append.run(folder))
        if ended.code and "another process is writing" not in ended.said:
            yield ended.said[-300:]

    def grow(self, sample: int):
        """Features are computed, and at one call of theirs, a new one each time, another process appends."""
        folder = copied(self.start, self.home / "trial")
        calls = calls_of(self.features.run, folder)
        chosen = spread(len(calls), sample)
        return len(calls), len(chosen), [wrong for step in chosen for wrong in self._grown_at(step, calls[step - 1])]

    def _grown_at(self, step: int, call: str):
        folder = copied(self.start, self.home / "trial")
        computing = Paused(self.features.run, folder)
        for number, _ in enumerate(computing.calls(), start=1):
            if number == step and in_child(lambda: self.append.run(folder)).code:
                yield f"at call {step}, {call}: the append failed"
        ended = computing.ended()
        sizes = (len(self.before["ids"]), len(self.after["ids"]))
        if ended.code or ended.result not in [self.features_of_first(n) for n in sizes]:
            yield f"at call {step}, {call}: features of no state ({ended.said[-300:]})"
        again = in_child(lambda: (self.features.run(folder), self.features.run(folder), state_of(folder)))
        if again.code or again.result[0] != again.result[1] or again.result[2] != self.after:
            yield f"at call {step}, {call}: afterwards {again.said[-300:] or 'another state'}"


def main() -> None:
    order, sample = sys.argv[1], int(sys.argv[2])
    small_blocks()
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as home:
        meeting = Meeting(Path(os.path.realpath(home)))
        if order == "grow":
            calls, trials, wrong = meeting.grow(sample)
        else:
            calls, trials, wrong = meeting.while_appending(getattr(meeting, order), sample)
    print(json.dumps({"calls": calls, "trials": trials, "violations": wrong}))


if __name__ == "__main__":
    main()
