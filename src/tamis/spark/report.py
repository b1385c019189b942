"""The report of a pipeline: one HTML file that needs nothing else, with plots drawn as SVG."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from tamis.spark.profile import Profile

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em; color: #222 }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2em }
table { border-collapse: collapse } td, th { padding: .2em .8em; border-bottom: 1px solid #ddd; text-align: left }
td.n { text-align: right; font-variant-numeric: tabular-nums } svg text { font-size: 12px; fill: #333 }
"""


def write_report(path: Path, records: dict[str, Any], summary: dict[str, Any], profile: Profile) -> None:
    """Write the page."""
    matched, compiled = records["match"], records["compile"]
    events, seconds = profile.events, matched["seconds"]
    matches, top = matched["facts"]["matches"], summary["busiest"]
    share = sum(count for _, count in top) / matches if matches else 0.0
    facts = [
        ("Subscriptions", f"{compiled['facts']['subscriptions']:,}"),
        ("Quarantined subscriptions", f"{compiled['facts']['quarantined']:,}"),
        ("Events", f"{events:,}"),
        ("Malformed events", f"{profile.malformed:,}"),
        ("Matches", f"{matches:,}"),
        ("Matches per event", f"{matches / events:,.2f}" if events else "–"),
        ("Index", f"{compiled['facts']['bytes'] / 2**20:,.1f} MiB, engine {compiled['facts']['engine']}"),
        ("Strategy", f"{matched['facts']['strategy']}: {matched['facts']['reason']}"),
        ("Events per second (match stage)", f"{events / seconds:,.0f}" if seconds else "–"),
        (f"Skew: share of the {len(top)} busiest subscriptions", f"{share:.1%}"),
    ]
    timing = [(name, round(record["seconds"], 2)) for name, record in records.items()]
    spread = [(f"{2**power:,}–{2 ** (power + 1) - 1:,}" if power else "1", count) for power, count in summary["spread"]]
    common = sorted(profile.attributes.items(), key=lambda pair: -pair[1].present)[:20]
    presence = [(name, about.present / events if events else 0.0) for name, about in common]
    parts = [
        section("In figures", table(facts)),
        section("Seconds per stage", bars(timing)),
        section("Busiest subscriptions (matches)", bars(top)),
        section("Events by number of matches", bars(spread)),
        section("Presence of the most frequent attributes", bars(presence, percent=True)),
    ]
    page = f"<!doctype html><html lang=en><meta charset=utf-8><title>tamis pipeline</title><style>{STYLE}</style>"
    path.write_text(page + "<h1>tamis pipeline</h1>" + "".join(parts) + "</html>\n")


def section(title: str, body: str) -> str:
    """A titled part of the page."""
    return f"<h2>{escape(title)}</h2>{body}"


def table(rows: Sequence[tuple[str, str]]) -> str:
    """Names and values."""
    return "<table>" + "".join(f"<tr><th>{escape(k)}<td class=n>{escape(v)}" for k, v in rows) + "</table>"


def bars(rows: Sequence[tuple[str, float]], percent: bool = False, width: int = 480) -> str:
    """Horizontal bars with their values."""
    if not rows:
        return "<p>Nothing to show.</p>"
    largest = max(value for _, value in rows) or 1
    lines = []
    for i, (name, value) in enumerate(rows):
        y, length = 20 * i, max(1, round(width * value / largest))
        shown = f"{value:.1%}" if percent else f"{value:,}"
        lines.append(
            f'<text x="190" y="{y + 14}" text-anchor="end">{escape(str(name)[:28])}</text>'
            f'<rect x="200" y="{y + 3}" width="{length}" height="14" fill="#3b7dd8"/>'
            f'<text x="{206 + length}" y="{y + 14}">{shown}</text>'
        )
    return f'<svg width="{width + 320}" height="{20 * len(rows) + 4}" role="img">{"".join(lines)}</svg>'
