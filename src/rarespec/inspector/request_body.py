"""The body of a request: one JSON object with the fields that are expected, each of its kind."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any, NoReturn
from uuid import UUID

from starlette.requests import ClientDisconnect, Request

from rarespec.errors import UsageError
from rarespec.inspector.answers import RefusedError
from rarespec.inspector.gate import MOST_BYTES
from rarespec.labels.event import tags_named

LARGEST = 2**53
"""Whole numbers up to here are exact in every language."""


async def body_of(request: Request, fields: tuple[str, ...]) -> Body:
    """Read the object in the body, which may have no other fields than these."""
    return parse_body(await _whole(request), fields)


async def _whole(request: Request) -> bytes:
    received = bytearray()
    try:
        async for piece in request.stream():
            received += piece
            if len(received) > MOST_BYTES:
                raise RefusedError(413, f"the body is longer than {MOST_BYTES} bytes")
    except ClientDisconnect:
        raise RefusedError(400, "the request ended early") from None
    return bytes(received)


def parse_body(text: bytes, fields: tuple[str, ...]) -> Body:
    try:
        content = json.loads(text.decode(), object_pairs_hook=_refuse_repeated, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, f"the body is not JSON ({error})") from None
    if not isinstance(content, dict):
        raise RefusedError(400, "the body is not a JSON object")
    if unknown := sorted(set(content) - set(fields)):
        raise RefusedError(400, f"unknown field {unknown[0][:40]!a}; known fields: {', '.join(fields) or 'none'}")
    return Body(content)


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a field is given twice")
    return dict(pairs)


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")


class Body:
    """Fields by name; a RefusedError where one is not what it must be. Fields that may be missing may be null."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._content = content

    def text(self, name: str, longest: int, otherwise: str | None = None) -> str:
        """Read a field that holds text.

        Parameters
        ----------
        name : str
            The field.
        longest : int
            Characters that it may have.
        otherwise : str, optional
            Text to use if the field is missing or null. By default the field must be there.

        Returns
        -------
        str
            The text.

        Raises
        ------
        RefusedError
            If it is not text, too long, or has characters that no file can hold.
        """
        value = self._content.get(name)
        value = otherwise if value is None else value
        if not isinstance(value, str) or len(value) > longest:
            raise RefusedError(400, f"{name} must be text of at most {longest} characters")
        if "\0" in value or not _can_be_written(value):
            raise RefusedError(400, f"{name} has invalid characters")
        return value

    def tags(self, name: str) -> tuple[str, ...]:
        """Read a field that holds tags; none if it is missing or null."""
        value = self._content.get(name)
        words = [] if value is None else value
        if not isinstance(words, list) or not all(isinstance(word, str) and _can_be_written(word) for word in words):
            raise RefusedError(400, f"{name} must be a list of text")
        try:
            return tags_named(words)
        except UsageError as error:
            raise RefusedError(400, str(error)) from None

    def event_id(self, name: str) -> str:
        text = self.text(name, 36)
        try:
            known = UUID(text)
        except ValueError:
            known = None
        if known is None or known.version != 4 or str(known) != text:
            raise RefusedError(400, f"{name} must be a random UUID (version 4) in lower case")
        return text

    def event_id_or_none(self, name: str) -> str | None:
        return None if self._content.get(name) is None else self.event_id(name)

    def one_of(self, name: str, values: tuple[str, ...]) -> str:
        value = self._content.get(name)
        if not isinstance(value, str) or value not in values:
            raise RefusedError(400, f"{name} must be one of {', '.join(values)}")
        return value

    def whole_or_none(self, name: str, least: int) -> int | None:
        value = self._content.get(name)
        if value is not None and (type(value) is not int or not least <= value <= LARGEST):
            raise RefusedError(400, f"{name} must be a whole number of at least {least}, or null")
        return value

    def share_or_none(self, name: str) -> float | None:
        value = self.number_or_none(name)
        if value is not None and not 0 <= value <= 1:
            raise RefusedError(400, f"{name} must be between 0 and 1, or null")
        return value

    def number_or_none(self, name: str) -> float | None:
        value = self._content.get(name)
        if value is None:
            return None
        if type(value) not in (int, float) or not abs(value) <= sys.float_info.max:
            raise RefusedError(400, f"{name} must be a number, or null")
        return float(value)


def _can_be_written(text: str) -> bool:
    """Say whether text can be written to a file: JSON can hold half a character, which no file can."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
