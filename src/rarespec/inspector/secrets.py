"""Secrets of one run of the inspector: who does not know them is not let in."""

from __future__ import annotations

from dataclasses import dataclass, field
from hmac import compare_digest
from secrets import token_urlsafe

N_BYTES = 32
"""256 bits each."""


@dataclass(frozen=True)
class Secrets:
    """token : opens the page, and is then the cookie; xsrf : has to come with whatever changes something."""

    token: str
    xsrf: str
    _tickets: set[str] = field(default_factory=set, repr=False, compare=False)

    @classmethod
    def new(cls) -> Secrets:
        return cls(token_urlsafe(N_BYTES), token_urlsafe(N_BYTES))

    def ticket(self) -> str:
        """Opens the page once. Others on this machine can read the command line that starts a browser."""
        ticket = token_urlsafe(N_BYTES)
        self._tickets.add(ticket)
        return ticket

    def opens(self, word: str) -> bool:
        """Whether this is the token, or a ticket that nobody has used yet."""
        if same(word, self.token):
            return True
        found = next((ticket for ticket in self._tickets if same(word, ticket)), None)
        self._tickets.discard(found or "")
        return found is not None


def same(word: str, secret: str) -> bool:
    """Compared in a time that does not tell how much of it was right."""
    return compare_digest(word.encode(errors="surrogatepass"), secret.encode())
