"""An object store in a process of its own on this machine, which notes every request and the bytes that it moved."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple
from urllib.request import urlopen

NOTES = "/requests-noted"
"""Asked here, the store tells what it has noted since it was asked last; no bucket can have this name."""
BUCKET = "surveys"
WHOLE = 200
"""Status of an answer that holds the whole object; one that holds a range has another."""


class Request(NamedTuple):
    """What somebody asked of the store."""

    method: str
    key: str
    """Bucket and object; a bucket alone is a listing."""
    status: int
    sent: int
    """Bytes of the answer, without its header."""
    received: int
    """Bytes of what was to be stored."""


class CountedStore:
    """A store that runs.

    Parameters
    ----------
    address : str
        Where it listens, such as http://127.0.0.1:4711.
    """

    def __init__(self, address: str) -> None:
        self.address = address

    @property
    def environment(self) -> dict[str, str]:
        """What programs need in their environment to find the store."""
        return {
            "AWS_ACCESS_KEY_ID": "someone",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
            "FSSPEC_S3_ENDPOINT_URL": self.address,
        }

    def upload(self, folder: Path, name: str | None = None) -> str:
        """Copy a folder to the store; return its URL."""
        import s3fs

        store = s3fs.S3FileSystem(endpoint_url=self.address, key="someone", secret="secret")
        store.makedirs(BUCKET, exist_ok=True)
        store.put(str(folder), f"{BUCKET}/{name or folder.name}", recursive=True)
        return f"s3://{BUCKET}/{name or folder.name}"

    def noted(self) -> list[Request]:
        """Give the requests since this was asked last."""
        with urlopen(self.address + NOTES) as answer:
            return [Request(*one) for one in json.load(answer)]


def readings(requests: Iterable[Request], array: str) -> Counter[str]:
    """Count how often each chunk of an array of a survey was read as a whole."""
    return Counter(
        one.key for one in requests if (one.method, one.status) == ("GET", WHOLE) and f"/{array}/c/" in one.key
    )


def set_fsspec_anew() -> None:
    """fsspec looks at the environment when it is imported, which may have been before the store was there."""
    import fsspec.config
    import s3fs

    fsspec.config.conf.pop("s3", None)
    fsspec.config.set_conf_env(fsspec.config.conf)
    s3fs.S3FileSystem.clear_instance_cache()


@contextmanager
def store_here() -> Iterator[CountedStore]:
    """Start a store on a free port; this process and those that it starts find it through the environment."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, __file__], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        store = CountedStore(process.stdout.readline().strip())
        before = {name: os.environ.get(name) for name in store.environment}
        try:
            _put_into_environment(store.environment)
            yield store
        finally:
            _put_into_environment(before)
            process.kill()  # all that it has is in its memory


def _put_into_environment(values: dict[str, Any]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    set_fsspec_anew()


# ---- The process of the store.


class NotesRequests:
    """A web application around another one."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self._application = application
        self._noted: list[Request] = []

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] == NOTES:
            noted, self._noted = self._noted, []
            start_response("200 OK", [("Content-Type", "application/json")])
            return [json.dumps(noted).encode()]
        answered: list[int] = []

        def start(status: str, *about: Any) -> Any:
            answered.append(int(status.split()[0]))
            return start_response(status, *about)

        content = list(self._application(environ, start))
        sent = 0 if environ["REQUEST_METHOD"] == "HEAD" else sum(map(len, content))
        received = int(environ.get("CONTENT_LENGTH") or 0)
        key = environ["PATH_INFO"].strip("/")
        self._noted.append(Request(environ["REQUEST_METHOD"], key, answered[0], sent, received))
        return content


def serve() -> None:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"  # connections are used again, as on a real store

        def log_request(self, *_: Any) -> None:
            pass

    application = NotesRequests(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=Quiet)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()  # ends with the process that started this one


if __name__ == "__main__":
    serve()
