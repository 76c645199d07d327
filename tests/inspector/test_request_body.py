"""Bodies of requests: whatever bytes come, there is an object with the expected fields or a refusal."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from rarespec.inspector.answers import RefusedError
from rarespec.inspector.request_body import Body, parse_body

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.binary(max_size=300) | ANYTHING.map(lambda value: json.dumps(value).encode(errors="surrogatepass")))
def test_any_bytes_are_an_object_or_refused(content: bytes) -> None:
    try:
        assert isinstance(parse_body(content, ("a", "b")), Body)
    except RefusedError as refused:
        assert refused.status == 400 and refused.response().body


@given(ANYTHING)
def test_any_field_is_of_its_kind_or_refused(value: object) -> None:
    body = Body({"x": value})
    kinds = {
        "text": (str, lambda: body.text("x", 10)),
        "event_id": (str, lambda: body.event_id("x")),
        "one_of": (str, lambda: body.one_of("x", ("a", "b"))),
        "whole": (int | None, lambda: body.whole_or_none("x", 0)),
        "number": (float | None, lambda: body.number_or_none("x")),
    }
    for kind, read in kinds.values():
        try:
            found = read()
        except RefusedError as refused:
            assert refused.status == 400
        else:
            assert isinstance(found, kind) and not isinstance(found, bool)
            assert json.dumps(found, allow_nan=False)
