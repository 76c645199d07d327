"""What ECSV and VOTable files would make a library do, found before it is let at them."""

from __future__ import annotations

import math
import re
from xml.parsers import expat

from rarespec.formats.inflating import largest_inflated
from rarespec.spectrum import DefectError, Reason

MOST_NODES = 1_000_000
"""Values of a header, with all repetitions. A header of 10 000 columns has a tenth of that."""

ELEMENT_BYTES = 8
_UNUSUAL = re.compile(r"[*\[\\]")
"""Marks without which a header neither names a part of itself nor the shape of a column."""
_SHAPE = re.compile(r"\[([\d, ]{1,200})")


def check_ecsv(text: str) -> None:
    """Refuse, with a DefectError, a header that unfolds without limit, or shapes that the rows cannot fill."""
    n_head = _length_of_header(text)
    header = text[:n_head]
    if not _UNUSUAL.search(header):
        return
    n_rows = text.count("\n", n_head)
    cells = sum(_elements(value) for value in _scalars_of_yaml(header))
    if cells * n_rows * ELEMENT_BYTES > largest_inflated(len(text)):
        raise DefectError(Reason.TOO_LARGE, f"{n_rows} rows of {cells} numbers each are declared")


def _length_of_header(text: str) -> int:
    """Count the characters up to the first line that is not a comment."""
    at = 0
    while text.startswith("#", at):
        end = text.find("\n", at)
        if end < 0:
            return len(text)
        at = end + 1
    return at


def _elements(value: str) -> int:
    """Count the elements of the array in a cell by its type, such as `float64[3,4]`; 0 for any other text."""
    shape = _SHAPE.search(value)
    return math.prod(int(length[:18]) for length in re.findall(r"\d+", shape[1])) if shape else 0


def _scalars_of_yaml(header: str) -> list[str]:
    """All texts of the YAML, after a count of what it unfolds to; linear in its length.

    A part that is named again counts again with all that it holds, and so does what merges it (`<<`).
    """
    import yaml  # type: ignore[import-untyped]

    lines = (line.removeprefix("#").removeprefix(" ") for line in header.splitlines())
    content = "\n".join(line for line in lines if not line.startswith("%ECSV"))
    scalars: list[str] = []
    nodes = _Nodes()
    try:
        for event in yaml.parse(content, yaml.SafeLoader):
            if isinstance(event, yaml.ScalarEvent):
                scalars.append(event.value)
                nodes.add(1, event.anchor)
            elif isinstance(event, yaml.AliasEvent):
                nodes.add(nodes.of_anchor.get(event.anchor, 1))
            elif isinstance(event, yaml.CollectionStartEvent):
                nodes.begin(event.anchor)
            elif isinstance(event, yaml.CollectionEndEvent):
                nodes.end()
    except yaml.YAMLError:
        pass  # its reader will say so
    return scalars


class _Nodes:
    """Counts the nodes of a YAML tree as it would be written without names for its parts."""

    def __init__(self) -> None:
        self.of_anchor: dict[str, int] = {}
        self._open: list[tuple[str | None, int]] = [(None, 0)]

    def begin(self, anchor: str | None) -> None:
        self._open.append((anchor, 1))

    def end(self) -> None:
        anchor, size = self._open.pop()
        self.add(size, anchor)

    def add(self, size: int, anchor: str | None = None) -> None:
        """A whole node of this size, to the one that is open."""
        if anchor is not None:
            self.of_anchor[anchor] = size
        outer, total = self._open[-1]
        if total + size > MOST_NODES:
            raise DefectError(Reason.TOO_LARGE, f"a header that unfolds to more than {MOST_NODES} values")
        self._open[-1] = (outer, total + size)


# ---- What a VOTable would make astropy do, found from its XML alone: fetch data from elsewhere, or fill the
# memory.


LARGEST_TABLES = 512 << 20
"""Bytes of the tables of a document, on top of 30 for each of its own; astropy makes 512 rows of any binary table."""

BINARY_ROWS = 512
MOST_FIELDS, MOST_REPEATED = 8000, 200
DEEPEST = 64
"""Elements within elements: a VOTable needs about ten, and astropy calls itself for every RESOURCE."""

_BYTES = {"bit": 1, "boolean": 1, "unsignedByte": 1, "char": 4, "unicodeChar": 4, "short": 2, "int": 4, "float": 4}
"""Of one element in memory; at most 16 for all others."""
_LENGTH = re.compile(r"\d+")


def check_votable(content: bytes) -> None:
    """Refuse, by a DefectError, what points to data elsewhere, defines XML of its own, or unfolds without measure.

    The parser is expat, as in astropy, so that both see the same elements, whatever the encoding and the spelling.
    """
    parser = expat.ParserCreate()
    document = _Document(len(content))
    parser.StartDoctypeDeclHandler = document.doctype
    parser.StartElementHandler = document.start
    parser.EndElementHandler = document.end
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise DefectError(Reason.CORRUPT, f"VOTable: {error}; fetch it again") from None


class _Document:
    """Adds up the bytes of rows while the elements go by."""

    def __init__(self, n_bytes: int) -> None:
        self._limit = LARGEST_TABLES + 30 * n_bytes
        self._depth = 0
        self._total = 0
        self._widest_row = 0
        self._begin_table({})

    def doctype(self, name: str, system: str | None, public: str | None, has_internal_subset: int) -> None:
        """The DTD of old VOTables is only named, and never fetched; entities and default attributes are not needed."""
        if has_internal_subset:
            raise DefectError(Reason.LAYOUT, "a VOTable that defines its own entities; save it without a DTD")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise DefectError(Reason.LAYOUT, f"a VOTable with elements nested more than {DEEPEST} deep")
        tag = name.rpartition(":")[2]
        if tag == "STREAM" and any(key.rpartition(":")[2] == "href" for key in attributes):
            raise DefectError(Reason.LAYOUT, "a VOTable whose data are stored elsewhere; save it with its data inside")
        if tag == "TABLE":
            self._begin_table(attributes)
        elif tag == "TR":
            self._rows += 1
        elif tag in ("BINARY", "BINARY2"):
            self._rows += BINARY_ROWS
        elif tag == "FIELD":
            self._add_field(attributes)
        elif tag == "PARAM":
            self._add(_bytes_of(attributes))

    def end(self, name: str) -> None:
        self._depth -= 1
        if name.rpartition(":")[2] == "TABLE":
            self._add(self._row_bytes * max(self._rows, self._declared_rows))

    def _begin_table(self, attributes: dict[str, str]) -> None:
        # Names are told apart within a table; one that refers to another table has the fields of that one.
        self._names: set[str] = set()
        self._n_fields = 0
        self._row_bytes = self._widest_row if "ref" in attributes else 0
        self._rows = 0
        self._declared_rows = _whole_number(attributes.get("nrows", ""))

    def _add_field(self, attributes: dict[str, str]) -> None:
        """Count a field: astropy's work grows with the square of the fields, and the cube of those of one name."""
        self._n_fields += 1
        self._names.add(attributes.get("name", ""))
        if self._n_fields > MOST_FIELDS or self._n_fields - len(self._names) > MOST_REPEATED:
            detail = f"a VOTable of more than {MOST_FIELDS} fields, or {MOST_REPEATED} of the same name"
            raise DefectError(Reason.LAYOUT, detail)
        self._row_bytes += _bytes_of(attributes)
        self._widest_row = max(self._widest_row, self._row_bytes)

    def _add(self, n_bytes: int) -> None:
        self._total += n_bytes
        if self._total > self._limit:
            raise DefectError(Reason.TOO_LARGE, f"a VOTable that declares more than {self._limit >> 20} MiB of cells")


def _bytes_of(field: dict[str, str]) -> int:
    """Estimate one cell with its mask. Numbers of any count (`*`) take memory when they come, text takes it at once."""
    kind, arraysize = field.get("datatype", ""), field.get("arraysize", "")
    if arraysize.endswith("*") and kind not in ("char", "unicodeChar"):
        arraysize = arraysize.rpartition("x")[0]
    return 8 + (_BYTES.get(kind, 16) + 1) * math.prod(map(_whole_number, _LENGTH.findall(arraysize)))


def _whole_number(text: str) -> int:
    """Read at most 18 digits of a number, which is beyond any limit."""
    digits = text.strip()[:18]
    return int(digits) if digits.isascii() and digits.isdigit() else 0
