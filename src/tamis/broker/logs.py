"""Logs as one JSON object a line, or for people at a terminal as text. Paths are logged without their query, headers and
bodies never: no secret gets in."""

import logging
import sys
import time
from typing import Any

import msgspec

PLAIN = frozenset(vars(logging.makeLogRecord({})))


def extras(record: logging.LogRecord) -> dict[str, Any]:
    """What a record carries beside its message."""
    return {name: value for name, value in vars(record).items() if name not in PLAIN and name != "color_message"}


class JsonLines(logging.Formatter):
    """A record as an object: time, level, logger, message, and whatever `extra` it carries."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        fields = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields |= extras(record)
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(fields, enc_hook=str).decode()


class Sentences(logging.Formatter):
    """A record as a person would like to read it."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and more when something broke."""
        about = ", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in extras(record).items())
        severity = f"{record.levelname.lower()}: " if record.levelno > logging.INFO else ""
        text = f"tamis: {severity}{record.getMessage()}" + (f" ({about})" if about else "")
        return text + (f"\n{self.formatException(record.exc_info)}" if record.exc_info else "")


def set_up(level: str, people: bool) -> None:
    """Send the broker's and the server's logs to standard error. People are not told of every request."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Sentences() if people else JsonLines())
    quiet = people and level == "info"
    for name, wanted in (("tamis", level), ("tamis.access", "warning" if quiet else level), ("uvicorn", "warning")):
        logger = logging.getLogger(name)
        logger.handlers[:] = [] if name == "tamis.access" else [handler]
        logger.setLevel(wanted.upper())
        logger.propagate = name == "tamis.access"
