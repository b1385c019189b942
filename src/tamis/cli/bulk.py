"""The end of the demo: the same market, a day's worth of offers at once, as a pipeline on Spark."""

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamis.errors import MissingExtra

if TYPE_CHECKING:
    from rich.console import Console

    from tamis.matcher import Matcher

SPEC = """
[pipeline]
output = "run"
partitions = 2
[subscriptions]
path = "subscriptions.json"
format = "json"
[events]
path = "events.json"
format = "json"
"""


def bulk(console: "Console", matcher: "Matcher", subscriptions: dict[str, str], offers: list[dict[str, Any]]) -> None:
    """Match all offers with a pipeline; told in a few lines, with the report's path."""
    console.print(f"\n[bold]A whole day at once: {len(offers):,} offers on Spark[/]\n")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        console.print("  Spark needs Java 17 or newer, and there is none; this part is left out.")
        return
    try:
        from tamis.spark import local_session
        from tamis.spark.pipeline import Pipeline
        from tamis.spark.session import SHORT
        from tamis.spark.spec import read_spec
    except MissingExtra as problem:
        console.print(f"  {problem}; this part is left out.")
        return
    from tamis.cli.pipeline import listed

    place = Path(tempfile.mkdtemp(prefix="tamis-demo-"))
    write_lines(place / "subscriptions.json", [{"id": name, "filter": text} for name, text in subscriptions.items()])
    write_lines(place / "events.json", [{"event_id": i, **offer} for i, offer in enumerate(offers)])
    (place / "demo.toml").write_text(SPEC)

    def told(stage: str, state: str, facts: dict[str, Any]) -> None:
        if state == "done":
            console.print(f"  [green]✓[/] {stage:9} [dim]{listed(facts)}[/]")

    local_session(partitions=2, **SHORT)
    pipeline = Pipeline(read_spec(place / "demo.toml"), told)
    report = pipeline.run()
    found = pipeline.records["match"].facts["matches"]
    alone = sum(map(len, matcher.match_many(offers)))
    same = "as many as the matcher finds" if found == alone else f"but the matcher finds {alone:,}"
    console.print(f"\n[bold]{found:,} notifications[/], {same}. Report with plots: {report}")


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    """One JSON object per line."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
