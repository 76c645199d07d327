"""Run as a script: one person who labels as fast as the log allows, and tells each label that was acknowledged.

    python labelling_process.py LOG PERSON N FILE_SYSTEM

Opens the log when a line comes in. Every tenth label is sent twice, as by a browser that got no answer.
"""

import itertools
import sys

from rarespec.labels.event import Label, LabelEvent, new_event_id
from rarespec.labels.log import LabelLog


def main() -> None:
    path, person, n, file_system = sys.argv[1:]
    print("ready", flush=True)
    sys.stdin.readline()
    with LabelLog(path, file_system=lambda path: file_system) as log:
        for i in itertools.islice(itertools.count(), int(n) or None):
            event = LabelEvent(new_event_id(), f"s{i}", Label.NO, person=person, rank=i, comment="x" * (i % 300))
            for _ in range(2 if i % 10 == 0 else 1):
                log.append(event)
            print(event.event_id, flush=True)


if __name__ == "__main__":
    main()
