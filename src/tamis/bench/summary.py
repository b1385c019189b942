"""The report in short, as Markdown: claims and whether they hold, and the numbers of some figures."""

from tamis.bench.claims import Verdict, number
from tamis.bench.figures import Row
from tamis.bench.spec import Figure, Suite

MARKS = {"holds": "✓", "does not hold here": "✗"}


def claim_lines(suites: list[Suite], judged: dict[str, list[Verdict]]) -> list[str]:
    """A table of all claims."""
    lines = ["| suite, figure | claim | holds | measured here | paper |", "|---|---|---|---|---|"]
    for suite in suites:
        for verdict in judged[suite.name]:
            cells = (f"{suite.name}, {verdict.claim.figure}", verdict.claim.text, MARKS.get(verdict.verdict, "–"))
            lines.append(row([*cells, verdict.measured, verdict.claim.paper]))
    return lines


def figure_lines(suite: Suite, figure: Figure, rows: list[Row]) -> list[str]:
    """The numbers of a figure, the paper's beside ours."""
    columns, places, values = grid(figure, rows)
    head = row([figure.x_title, *columns])
    body = [row([number(x), *(values.get((x, column), "") for column in columns)]) for x in places]
    title = f"### {suite.name}, {figure.id}: {figure.title}, {figure.y_title}"
    return [title, "", head, "|" + "---|" * (len(columns) + 1), *body, ""]


def grid(figure: Figure, rows: list[Row]) -> tuple[list[str], list[object], dict[tuple[object, str], str]]:
    """Columns, places on x, and the number in each cell."""
    names = [column(figure, each) for each in rows]
    places = list(dict.fromkeys(each.x for each in rows))
    if all(isinstance(x, (int, float)) for x in places):
        places.sort()
    values = {(each.x, name): number(each.y) for each, name in zip(rows, names, strict=True)}
    return list(dict.fromkeys(names)), places, values


def column(figure: Figure, each: Row) -> str:
    """The series, and what is varied beside x."""
    if each.split is None:
        return each.series
    varied = each.split if isinstance(each.split, str) else f"{figure.split} {number(each.split)}"
    return f"{each.series}, {varied}"


def row(cells: list[str]) -> str:
    """A line of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
