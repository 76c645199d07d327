"""Run as a script: each file-system call of a change fails once, in each way; what is found then is checked.

    python fault_injection.py CHANGE SAMPLE [--without-journal]

SAMPLE is how many calls are tried, spread over all; 0 means every one. Prints a JSON object: how many calls there are,
how many trials were made, and what was wrong after which.
"""

import json
import os
import sys
import tempfile
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from changes import CHANGES, Change, copied, is_between, prepared, small_blocks, state_of
from file_system_calls import DIED, FAULTS, fault_at
from forked import in_child

from rarespec.survey.store import commit, manifest

IN_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
"""Where flushing takes no time; what was not flushed is lost all the same, by `lose_power`."""


def publish_without_journal(self, new: manifest.Manifest) -> None:
    """As it must not be done: whoever comes in between finds half of the change."""
    for relative in sorted(self._files):
        (self.root / relative).parent.mkdir(parents=True, exist_ok=True)
        os.replace(self.staging / relative, self.root / relative)
    (self.root / manifest.NAME).write_bytes(new.to_bytes())


class Injection:
    """The trials of one change. Violations are told in words."""

    def __init__(self, change: Change, home: Path) -> None:
        self.change, self.home = change, home
        self.start = prepared(change, home / "start")
        self.before = in_child(lambda: state_of(copied(self.start, home / "seen"))).result
        undisturbed = copied(self.start, home / "trial")  # sources are kept by their paths
        ended = in_child(lambda: self._counted(undisturbed))
        assert ended.result, ended.said
        self.result, self.calls, modules = ended.result
        load(modules)
        self.after = in_child(lambda: state_of(undisturbed)).result

    def _counted(self, folder):
        calls, result = fault_at(0, "", folder / self.change.where), None
        with suppress(SystemExit):  # a command ends with a code
            result = self.change.run(folder)
        return result, calls, list(sys.modules)

    def _disturbed(self, folder, step, fault):
        fault_at(step, fault, folder / self.change.where)
        return self.change.run(folder)

    def violations(self, step: int, fault: str):
        folder = copied(self.start, self.home / "trial")
        ended = in_child(lambda: self._disturbed(folder, step, fault))
        yield from self._wrong_end(ended, fault)
        seen = in_child(lambda: state_of(copied(folder, self.home / "seen")))
        if seen.code:
            yield f"afterwards: {_last_line(seen.said)}"
        elif not is_between(seen.result, self.before, self.after):
            yield "afterwards: neither the old state nor a part of the new one"
        again = in_child(lambda: self.change.run(folder))
        yield from (f"run again, {wrong}" for wrong in self._wrong_end(again, None))
        found = in_child(lambda: state_of(folder))
        if found.code or found.result != self.after:
            yield f"after the second run: {_last_line(found.said) or 'not what an undisturbed run gives'}"

    def _wrong_end(self, ended, fault):
        if fault == "crash" and ended.code == DIED:
            return
        if ended.code not in ((0, 1, 3) if fault else (0, 1)):
            yield f"it ended with {ended.code}: {_last_line(ended.said)}"
        elif "bug in rarespec" in ended.said:
            yield f"a traceback: {_last_line(ended.said)}"
        elif self.change.result_matters and ended.code == 0 and ended.result != self.result:
            yield "it gave another result"


def load(modules: list[str]) -> None:
    """Once, in the parent of all runs."""
    for name in modules:
        if name.partition(".")[0] in ("rarespec", "astropy", "pyarrow", "zarr", "sklearn", "scipy", "numcodecs"):
            with suppress(ImportError):
                import_module(name)


def _last_line(text):
    return text.strip().rpartition("\n")[2][:300]


def spread(n: int, sample: int) -> list[int]:
    """So many of the numbers from 1 to n, in the middle of parts of the same length; all of them for 0."""
    if not sample or sample >= n:
        return list(range(1, n + 1))
    return [1 + (2 * i + 1) * n // (2 * sample) for i in range(sample)]


def main() -> None:
    name, sample, *options = sys.argv[1:]
    small_blocks()
    if "--without-journal" in options:
        commit.Commit.publish = publish_without_journal
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as home:
        injection = Injection(CHANGES[name], Path(home))
        trials = [(step, fault) for step in spread(len(injection.calls), int(sample)) for fault in FAULTS]
        wrong = [
            f"{fault} at call {step}, {injection.calls[step - 1]}: {violation}"
            for step, fault in trials
            for violation in injection.violations(step, fault)
        ]
    print(json.dumps({"calls": len(injection.calls), "trials": len(trials), "violations": wrong}))


if __name__ == "__main__":
    main()
