"""The report: one HTML page that opens anywhere without a network, and the PNGs it shows.

Everything on it is derived from result files: charts, tables of our numbers beside the paper's, whether claims hold.
"""

import base64
import html
import json
import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

from tamis import __version__
from tamis.bench import plots
from tamis.bench.claims import FAILS, HOLDS, Verdict, number, verdicts
from tamis.bench.figures import Row, figure_rows
from tamis.bench.overview import MEASURES, cells
from tamis.bench.results import OK, Point, Result, points
from tamis.bench.spec import Figure, Suite
from tamis.bench.summary import claim_lines, figure_lines, grid

OURS = "this project"
"""The source of suites that no paper has."""
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 1080px; margin: 2rem auto; padding: 0 1rem }
h1 { margin-bottom: 0 } h2 { margin-top: 3rem; border-bottom: 2px solid #1f5fa8; padding-bottom: .2rem } h3 { margin-top: 2rem }
img { max-width: 100%; height: auto; border: 1px solid #ddd }
table { border-collapse: collapse; margin: .8rem 0; font-size: 14px }
th, td { border: 1px solid #ddd; padding: .25rem .6rem; text-align: left }
td.n { text-align: right; font-variant-numeric: tabular-nums }
th { background: #f2f5f9 } td.paper, th.paper { background: #fbf6ea }
.holds { color: #1d6b3c; font-weight: 600 } .fails { color: #a3262f; font-weight: 600 } .open { color: #777 }
.about, .note { color: #555 } nav { columns: 2; margin: 1rem 0 } details { margin: .5rem 0 } .scroll { overflow-x: auto }
"""


@dataclass
class Page:
    """Collects pieces of HTML and the charts they show."""

    folder: Path
    parts: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        """A piece of HTML, as it is."""
        self.parts.append(text)

    def picture(self, drawn: Any, name: str) -> None:
        """A chart: as a file, and inside the page."""
        file = self.folder / f"{name}.png"
        plots.save(drawn, file)
        data = base64.b64encode(file.read_bytes()).decode()
        self.add(f'<p><img alt="{e(name)}" src="data:image/png;base64,{data}"></p>')

    def table(self, head: list[str], rows: Iterable[Iterable[str]], published: Iterable[int] = ()) -> None:
        """A table; cells are HTML, numbers are aligned to the right, columns of the paper are tinted."""
        tinted = set(published)

        def cell(tag: str, text: str, column: int) -> str:
            kinds = [k for k, wanted in (("n", tag == "td" and numeric(text)), ("paper", column in tinted)) if wanted]
            return f'<{tag} class="{" ".join(kinds)}">{text}</{tag}>' if kinds else f"<{tag}>{text}</{tag}>"

        lines = ["".join(cell("th", text, i) for i, text in enumerate(head))]
        lines += ["".join(cell("td", text, i) for i, text in enumerate(row)) for row in rows]
        self.add('<div class="scroll"><table>' + "".join(f"<tr>{line}</tr>" for line in lines) + "</table></div>")

    def html(self, title: str) -> str:
        """The whole page."""
        head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{e(title)}</title>'
        body = "\n".join(self.parts)
        return f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n'


def write_report(suites: list[Suite], results: list[Result], skipped: list[str], profile: str, folder: Path) -> Path:
    """Write `index.html`, `summary.md` and the PNGs; returns the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    page = Page(folder)
    results, former = planned(suites, results, profile)
    skipped = skipped + former
    found = points(results)
    there = [suite for suite in suites if any(result.run.suite == suite.name for result in results)]
    judged = {suite.name: verdicts(suite, found) for suite in there}
    about = machine_line(results, profile)
    page.add(f"<h1>tamis: experiments</h1><p class=about>{e(about)}</p>")
    page.add("<nav>" + "<br>".join(f'<a href="#{s.name}">{e(s.name)}: {e(s.title)}</a>' for s in there) + "</nav>")
    claim_table(page, there, judged)
    overview(page, there, found)
    recommendation(page)
    for suite in there:
        section(page, suite, [r for r in results if r.run.suite == suite.name], judged[suite.name], found)
    if skipped:
        page.add("<h2>Files that were skipped</h2><ul>" + "".join(f"<li>{e(line)}</li>" for line in skipped) + "</ul>")
    file = folder / "index.html"
    file.write_text(page.html(f"tamis {__version__}: experiments, {profile} profile"), encoding="utf-8")
    (folder / "summary.md").write_text(summary(there, judged, found, about), encoding="utf-8")
    return file


def planned(suites: list[Suite], results: list[Result], profile: str) -> tuple[list[Result], list[str]]:
    """The results of workloads that the suites have, in the order of the suites; and what became of the others."""
    places = [
        (suite.name, group.name, work)
        for suite in suites
        for group in suite.groups
        for work in group.workloads(profile)
    ]
    place = {told(*each): n for n, each in enumerate(places)}
    here = [result for result in results if told_run(result) in place]
    others = Counter(result.run.suite for result in results if told_run(result) not in place)
    lines = [
        f"{suite}: {count} results of workloads that the suite does not have (any more)"
        for suite, count in others.items()
    ]
    return sorted(here, key=lambda result: place[told_run(result)]), lines


def told_run(result: Result) -> str:
    """What a result was measured on."""
    return told(result.run.suite, result.run.group, result.run.workload)


def told(suite: str, group: str, workload: dict[str, Any]) -> str:
    """A workload's name."""
    return json.dumps([suite, group, workload], sort_keys=True)


def machine_line(results: list[Result], profile: str) -> str:
    """What was measured where."""
    last = max(results, key=lambda result: result.started).machine if results else {}
    loads = [result.machine.get("load", 0.0) for result in results]
    made = datetime.now(UTC).strftime("%Y-%m-%d")
    return (
        f"{len(results)} runs of the {profile} profile with tamis {__version__}; {last.get('processor', 'unknown processor')}, "
        f"{last.get('cores', '?')} cores, Python {last.get('python', '?')}; load while measuring {min(loads, default=0):.1f} to "
        f"{max(loads, default=0):.1f}; report of {made}. Times are medians; lines and bars in charts span all samples. Every "
        f"engine's matches were compared with those of scan before its times were taken."
    )


def claim_table(page: Page, suites: list[Suite], judged: dict[str, list[Verdict]]) -> None:
    """Every claim of every paper and whether it holds."""
    everything = [verdict for found in judged.values() for verdict in found]
    held = sum(verdict.verdict == HOLDS for verdict in everything)
    page.add(f'<h2 id="claims">Claims</h2><p>{held} of {len(everything)} hold here.</p>')
    rows = []
    for suite in suites:
        for verdict in judged[suite.name]:
            link = f'<a href="#{anchor(suite, verdict.claim.figure)}">{e(suite.name)}, {e(verdict.claim.figure)}</a>'
            claim = verdict.claim
            rows.append(
                [e(suite.source.split(",")[0]), e(claim.text), mark(verdict), e(verdict.measured), e(claim.paper), link]
            )
    page.table(["source", "claim", "verdict", "measured here", "paper's number", "figure"], rows)


def overview(page: Page, suites: list[Suite], found: list[Point]) -> None:
    """Heat maps of engines × workloads."""
    page.add('<h2 id="overview">Overview: engines × workloads</h2>')
    page.add("<p class=about>The best variant of each engine; an empty cell was not measured.</p>")
    for measure in MEASURES:
        known = cells(suites, found, measure)
        if known:
            page.picture(plots.heat_map(known, measure.title, measure.legend), f"overview-{measure.metric}")


def recommendation(page: Page) -> None:
    """The measured workloads by which Matcher(engine="auto") chooses, when they are there."""
    file = resources.files("tamis.matcher") / "recommendation.toml"
    if not file.is_file():
        return
    rows = tomllib.loads(file.read_text(encoding="utf-8"))["workload"]
    winners = Counter(min(row["cost"], key=row["cost"].__getitem__) for row in rows)
    page.add('<h2 id="recommendation">Recommendation</h2>')
    page.add(
        f'<p><code>Matcher(engine="auto", sample=…)</code> looks for the measured workloads most like yours, among {len(rows)} '
        f"random ones. The best engine on them: {e(', '.join(f'{name} {count}' for name, count in winners.most_common()))}.</p>"
    )
    told = [name for name in rows[0] if name not in ("seed", "cost")]
    lines = []
    for row in sorted(rows, key=lambda row: row.get("subscriptions", 0)):
        (first, cost), *others = sorted(row["cost"].items(), key=lambda item: item[1])
        then = f"{others[0][0]}, {number(others[0][1] / cost)} times" if others else ""
        lines.append([*(number(row.get(name, "")) for name in told), e(first), number(cost), e(then)])
    page.add("<details><summary>the table</summary>")
    page.table([*map(e, told), "best engine", "µs per event", "next"], lines)
    page.add("</details>")


def section(page: Page, suite: Suite, results: list[Result], judged: list[Verdict], found: list[Point]) -> None:
    """One suite: what it is, its figures, what was not measured."""
    page.add(f'<h2 id="{suite.name}">{e(suite.title)}</h2><p class=about>{e(suite.source)}. {e(suite.about)}</p>')
    chosen = [f"{group.title}: {', '.join(group.chosen)}" for group in suite.groups if group.chosen]
    if chosen:
        page.add(
            f"<p class=note>Chosen here, because the paper's text does not give it legibly: {e('; '.join(chosen))}.</p>"
        )
    for figure in suite.figures:
        draw(page, suite, figure, judged, found)
    missing = [result for result in results if result.status != OK]
    if missing:
        page.add("<h3>Not measured</h3>")
        page.table(["run", "why"], [[e(str(result.run)), e(f"{result.status}: {result.reason}")] for result in missing])


def draw(page: Page, suite: Suite, figure: Figure, judged: list[Verdict], found: list[Point]) -> None:
    """One figure: chart, verdicts, numbers."""
    rows = figure_rows(found, ordered(suite, figure), suite.name, suite.series)
    title = f"{suite.name}, {figure.id}: {figure.title}"
    drawn = plots.chart(figure, rows, title)
    if drawn is None:
        return
    page.add(f'<h3 id="{anchor(suite, figure.id)}">{e(figure.id)}: {e(figure.title)}</h3>')
    page.picture(drawn, anchor(suite, figure.id))
    for verdict in judged:
        if verdict.claim.figure == figure.id:
            told = f" Here: {e(verdict.measured)}." if verdict.measured else ""
            paper = f" Paper: {e(verdict.claim.paper)}."
            page.add(f"<p>Claim: {e(verdict.claim.text)} {mark(verdict)}.{told}{paper}</p>")
    if figure.note:
        page.add(f"<p class=note>{e(figure.note)}</p>")
    page.add(f"<details><summary>numbers ({e(figure.y_title)})</summary>")
    numbers(page, figure, rows)
    page.add("</details>")


def ordered(suite: Suite, figure: Figure) -> Figure:
    """The figure with its series in the order of the suite, unless it has an order of its own."""
    return figure if figure.series else replace(figure, series=list(suite.engines))


def numbers(page: Page, figure: Figure, rows: list[Row]) -> None:
    """x by series, the paper's numbers beside ours."""
    columns, places, values = grid(figure, rows)
    published = {row.series for row in rows if row.paper}
    lines = [[number(x), *(values.get((x, column), "") for column in columns)] for x in places]
    tinted = [i + 1 for i, column in enumerate(columns) if column in published]
    page.table([e(figure.x_title), *map(e, columns)], lines, tinted)


def summary(suites: list[Suite], judged: dict[str, list[Verdict]], found: list[Point], about: str) -> str:
    """The claims, the figures a paper gives numbers for, and the measurements that are our own, as Markdown."""
    lines = ["# Experiments in short", "", about, "", *claim_lines(suites, judged), ""]
    for suite in suites:
        for figure in suite.figures:
            rows = figure_rows(found, ordered(suite, figure), suite.name, suite.series)
            if (figure.paper or suite.source == OURS) and any(not row.paper for row in rows):
                lines += figure_lines(suite, figure, rows)
    return "\n".join(lines).rstrip() + "\n"


def mark(verdict: Verdict) -> str:
    """The verdict in its colour."""
    kind = {HOLDS: "holds", FAILS: "fails"}.get(verdict.verdict, "open")
    return f'<span class="{kind}">{e(verdict.verdict)}</span>'


def anchor(suite: Suite, figure: str) -> str:
    """A name for a figure that is safe in links and file names."""
    return f"{suite.name}-{figure}".replace(" ", "-").lower()


def numeric(text: str) -> bool:
    """Whether a cell is a number."""
    return text.replace(",", "").replace(".", "", 1).replace("e-", "", 1).replace("e+", "", 1).isdigit()


def e(text: str) -> str:
    """Text, safe in HTML."""
    return html.escape(text)
