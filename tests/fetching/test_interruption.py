"""A fetch that is interrupted or killed in the middle of a file, and run again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path

import pytest

from conftest import small_survey_files
from fetching.archive_server import Answer, ArchiveServer, Request
from fetching.local_archives import archives_file, serve_sdss
from rarespec.survey import Survey


@pytest.fixture(scope="module")
def spectra(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return small_survey_files(tmp_path_factory.mktemp("sdss"), 4)


def started(archives: Path, ids: list[str], survey: Path) -> subprocess.Popen[str]:
    words = ["fetch", "sdss", *ids, "--into", str(survey), "--archives", str(archives), "--connections", "2"]
    environment = {**os.environ, "no_proxy": "127.0.0.1"}
    return subprocess.Popen(
        [sys.executable, "-m", "rarespec", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def parts(survey: Path) -> list[Path]:
    return list(survey.with_name(f"{survey.name}.files").rglob(".*.part"))


def has_begun(survey: Path, id: str) -> bool:
    return any(id in path.name and path.stat().st_size for path in parts(survey))


def end_with(process: subprocess.Popen[str], how: signal.Signals) -> str:
    """What it said on standard error. Like an impatient user: Python itself may lose the first Ctrl-C, when it comes
    inside a callback of its garbage collector."""
    for _ in range(5):
        process.send_signal(how)
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=10)[1]
    raise AssertionError("five signals did not end it")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_run_again_after_an_interruption(
    server: ArchiveServer, spectra: list[Path], tmp_path: Path, how: signal.Signals
) -> None:
    paths = serve_sdss(server, spectra)
    ids, survey = list(paths), tmp_path / "x.survey"
    archives = archives_file(server, tmp_path / "archives.toml")
    asked, silence = threading.Event(), threading.Event()
    content = server.files[paths[ids[2]]]

    def half(request: Request) -> Answer:
        asked.set()
        return Answer(content[:40_000], length=len(content), headers={"ETag": '"1"'}, stall=silence)

    server.faults[paths[ids[2]]] = deque([half])
    try:
        with started(archives, ids, survey) as process:
            assert asked.wait(60)
            while not has_begun(survey, ids[2]):
                assert process.poll() is None
            stderr = end_with(process, how)
    finally:
        silence.set()
    if how == signal.SIGINT:
        assert process.returncode == 3
        assert "interrupted" in stderr
    assert not survey.exists()
    server.requests.clear()
    with started(archives, ids, survey) as again:
        stdout, stderr = again.communicate(timeout=60)
    assert again.returncode == 0, stderr
    assert "failed                 0" in stdout
    assert set(Survey.open(survey).ids) == set(ids)
    assert parts(survey) == []
    (resumed,) = [request for request in server.requests if request.path == paths[ids[2]]]
    assert resumed.headers["Range"].startswith("bytes=")
