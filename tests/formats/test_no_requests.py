"""No file makes its reader fetch anything: a server on this machine waits for requests that must not come."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr

from rarespec import formats
from rarespec.formats import Source
from rarespec.formats.catalogue import read_catalogue
from rarespec.searching.export.ecsv import provenance_in
from rarespec.searching.known.example_file import tables_in
from rarespec.spectrum import Defect, DefectError, Reason

pytestmark = pytest.mark.filterwarnings("ignore::astropy.utils.exceptions.AstropyWarning")


class Server:
    """`url` of a file on it; `asked` lists what was requested."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                self.send_error(404)

            do_HEAD = do_GET

            def log_message(self, *of: object) -> None: ...

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/data"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


FIELDS = "<FIELD name='wavelength' datatype='double'/><FIELD name='flux' datatype='double'/>"


def document(stream: str, kind: str = "BINARY", before: str = "") -> str:
    table = f"<TABLE>{FIELDS}<DATA><{kind}>{stream}</{kind}></DATA></TABLE>"
    return f"<?xml version='1.0'?>{before}<VOTABLE version='1.4'><RESOURCE>{table}</RESOURCE></VOTABLE>"


STREAMS = {
    "plain": document("<STREAM href='URL'/>"),
    "double quotes and lines": document('<STREAM\n\ttype="locator"\n\nhref\n=\n"URL"\n/>'),
    "a bracket in an attribute": document("<STREAM expires='>' href='URL'/>"),
    "a prefix with a dash": document("<v-o:STREAM xmlns:v-o='http://www.ivoa.net/xml/VOTable/v1.3' href='URL'/>"),
    "characters by number": document("<STREAM hr&#101;f='URL'/>").replace("hr&#101;f", "href"),
    "an entity": document("&s;", before="<!DOCTYPE VOTABLE [<!ENTITY s \"&#60;STREAM href='URL'/>\">]>"),
    "a default attribute": document("<STREAM/>", before="<!DOCTYPE VOTABLE [<!ATTLIST STREAM href CDATA 'URL'>]>"),
    "FITS": document("<STREAM expires='>' href='URL'/>", "FITS"),
    "Parquet": document("<STREAM expires='>' href='URL'/>", "PARQUET"),
    "BINARY2, packed": document("<STREAM expires='>' encoding='gzip' href='URL'/>", "BINARY2"),
}


@pytest.mark.parametrize("stream", STREAMS)
def test_a_votable_whose_data_lie_elsewhere_is_refused(tmp_path: Path, server: Server, stream: str) -> None:
    path = tmp_path / "a.vot"
    path.write_text(STREAMS[stream].replace("URL", server.url))
    (found,) = formats.read_here(path)
    with pytest.raises(DefectError) as as_catalogue:
        read_catalogue(path)
    with pytest.raises(DefectError) as as_table, Source(path) as source:
        tables_in(source)
    assert server.asked == []
    assert isinstance(found, Defect)
    assert {found.reason, as_catalogue.value.reason, as_table.value.reason} == {Reason.LAYOUT}


def test_other_encodings_are_refused_too(tmp_path: Path, server: Server) -> None:
    for encoding in ("utf-16", "utf-16-le", "utf-32", "cp037"):
        content = STREAMS["plain"].replace("URL", server.url).replace("'1.0'", f"'1.0' encoding='{encoding}'")
        (tmp_path / "a.vot").write_bytes(content.encode(encoding))
        (found,) = formats.read_here(tmp_path / "a.vot", "text-table")
        assert isinstance(found, Defect)
    assert server.asked == []


def test_an_old_votable_that_names_its_dtd_is_read_and_the_dtd_is_not(tmp_path: Path, server: Server) -> None:
    rows = "".join(f"<TR><TD>{4000 + i}</TD><TD>1</TD></TR>" for i in range(5))
    text = document(rows, "TABLEDATA", before=f"<!DOCTYPE VOTABLE SYSTEM '{server.url}'>")
    (tmp_path / "a.vot").write_text(text)
    (found,) = formats.read_here(tmp_path / "a.vot")
    assert not isinstance(found, Defect), found
    assert server.asked == []


def test_text_is_never_taken_for_an_address(tmp_path: Path, server: Server) -> None:
    """astropy opens a text of one line as a file or an address."""
    for content in (server.url, f"{server.url}\n", f"# %ECSV 1.0 {server.url}", f"id\n{server.url}"):
        path = tmp_path / "a.ecsv"
        path.write_text(content)
        list(formats.read_here(path))
        for read in (read_catalogue, provenance_in):
            with suppress(DefectError, ValueError, OSError):
                read(path)
    assert server.asked == []


def test_hdf5_links_and_virtual_datasets_are_not_followed(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["flux"], other["wavelength"] = np.ones((3, 4)), np.arange(1.0, 5)
    with h5py.File(tmp_path / "link.h5", "w") as file:
        file["flux"] = h5py.ExternalLink("other.h5", "flux")
        file["wavelength"] = h5py.SoftLink("/nowhere")
    with h5py.File(tmp_path / "virtual.h5", "w") as file:
        layout = h5py.VirtualLayout((3, 4), "f8")
        layout[:] = h5py.VirtualSource(tmp_path / "other.h5", "flux", (3, 4))
        file.create_virtual_dataset("flux", layout)
        file["wavelength"] = np.arange(1.0, 5)
    (tmp_path / "bytes").write_bytes(np.ones((3, 4)).tobytes())
    with h5py.File(tmp_path / "external.h5", "w") as file:
        file.create_dataset("flux", (3, 4), "f8", external=[(str(tmp_path / "bytes"), 0, 96)])
        file["wavelength"] = np.arange(1.0, 5)
    for name, reason in (
        ("link", Reason.MISSING_COLUMN),
        ("virtual", Reason.LAYOUT),
        ("external", Reason.LAYOUT),
    ):
        (found,) = formats.read_here(tmp_path / f"{name}.h5")
        assert isinstance(found, Defect) and found.reason is reason, found


@pytest.mark.parametrize("codec", ["pickle", "numcodecs.pickle", "msgpack2", "json2", "a_plugin"])
@pytest.mark.parametrize("place", ["filters", "compressor"])
def test_zarr_codecs_that_are_not_known_to_be_harmless_are_refused(tmp_path: Path, codec: str, place: str) -> None:
    """Any package that is installed may register codecs; only those whose work is known are used."""
    group = zarr.open_group(tmp_path / "a.zarr", mode="w", zarr_format=2)
    group.create_array("flux", data=np.ones((3, 4)))
    group.create_array("wavelength", data=np.arange(1.0, 5))
    path = tmp_path / "a.zarr" / "flux" / ".zarray"
    metadata = json.loads(path.read_text()) | {place: [{"id": codec}] if place == "filters" else {"id": codec}}
    path.write_text(json.dumps(metadata))
    (found,) = formats.read_here(tmp_path / "a.zarr")
    assert isinstance(found, Defect) and found.reason is Reason.LAYOUT and codec in found.detail, found
