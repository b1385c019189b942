"""Limits on what a user may hand in; every refusal names the limit that was hit."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on filters and events; generous for people, tight for attackers."""

    filter_bytes: int = 4096
    predicates: int = 64
    depth: int = 16
    terms: int = 256
    event_bytes: int = 256 * 1024
    event_attributes: int = 256
    event_depth: int = 32
    event_values: int = 4096
    bindings: int = 10_000
