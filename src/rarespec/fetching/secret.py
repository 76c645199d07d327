"""A token that goes to one archive and nowhere else: not to another host, not onto the screen, not into files."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import quote, urlsplit

from rarespec.errors import UsageError

HIDDEN = "***"


@dataclass(frozen=True)
class Secret:
    """A token, sent as the parameter `parameter` of the addresses of one origin (scheme, host and port)."""

    parameter: str
    origin: str
    value: str = field(repr=False)

    def add_to(self, url: str) -> str:
        """Add the token to an address of its own origin; return any other as it is."""
        if origin_of(url) != self.origin or self.is_in(url):
            return url
        mark = "&" if urlsplit(url).query else "?"
        return f"{url}{mark}{self.parameter}={quote(self.value, safe='')}"

    def is_in(self, text: str) -> bool:
        return self.value in text or quote(self.value, safe="") in text

    def hide_in(self, text: str) -> str:
        """Return the text without the token."""
        return text.replace(self.value, HIDDEN).replace(quote(self.value, safe=""), HIDDEN)


def secret_from_environment(variable: str, address: str) -> Secret | None:
    """Take the token of the archive at this address from an environment variable; None when it is not set."""
    value = os.environ.get(variable, "").strip()
    if not value:
        return None
    if not _is_private_way(address):
        raise UsageError(
            f"{origin_of(address)}: the token of {variable} would be sent unencrypted; use an https address"
        )
    return Secret("token", origin_of(address), value)


def origin_of(url: str) -> str:
    """Scheme, host and port: https://www.lamost.org:443."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    return f"{parts.scheme}://{(parts.hostname or '').lower()}:{port}"


def _is_private_way(url: str) -> bool:
    parts = urlsplit(url)
    if parts.scheme == "https" or parts.hostname == "localhost":
        return True
    try:
        return ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


class HidingFilter(logging.Filter):
    """Takes the token out of the log of the HTTP library, which writes down whole addresses."""

    def __init__(self, secret: Secret) -> None:
        super().__init__()
        self._secret = secret

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = self._secret.hide_in(record.getMessage()), ()
        return True
