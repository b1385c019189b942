"""Tickets: a random secret per subscription, shown once. Only its digest is kept, and digests are compared in constant time.

A ticket has 256 random bits, so a plain digest is enough: there is nothing to guess and no need for a slow hash. An unknown
subscription is compared against a digest nothing hashes to, and is refused with the same error as a wrong ticket.
"""

import hashlib
import hmac
import secrets

PREFIX = "tamis_"
NOTHING = bytes(32)


def new_ticket() -> str:
    """A fresh secret."""
    return PREFIX + secrets.token_urlsafe(32)


def digest(secret: str) -> bytes:
    """What is stored of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


def fits(secret: str, stored: bytes | None) -> bool:
    """Whether the secret is the one a digest was made of; no digest means no."""
    same = hmac.compare_digest(digest(secret), stored if stored is not None else NOTHING)
    return same and stored is not None


def fits_any(secret: str, stored: tuple[bytes, ...]) -> bool:
    """Whether the secret is one of several; looks at all of them, so that time tells nothing."""
    return sum(fits(secret, one) for one in stored) > 0
