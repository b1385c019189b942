"""The commands, one file each, and the only place where everything is wired together.

A command reads rows (`readers`), hands them to a `Matcher`, and writes what comes out (`writers`). A bad row is a
*problem*: told with its file and line, counted, and left out (`problems`); everything else that goes wrong ends the
command with one message. Heavy modules are imported inside the commands, so that `tamis --help` stays quick.
"""

from tamis.cli.app import main

__all__ = ["main"]
