"""Charts as PNG: lines over a size, dots or bars over a choice; published points are hollow and dashed."""

from pathlib import Path
from typing import Any, cast

import altair as alt

from tamis.bench.figures import Row
from tamis.bench.spec import Figure

WIDTH, HEIGHT, DOTS_PER_INCH = 460, 280, 110
COLOURS = [
    "#1f5fa8", "#d1495b", "#2e8b57", "#edae49", "#7b4fa3", "#00798c",
    "#8c5a2b", "#e377c2", "#5b6770", "#9aa21f", "#3aa6dd", "#b0413e",
]  # fmt: skip
GREYS = ["#444444", "#8a8a8a", "#b5b5b5"]
FORMAT = ",.12~g"
ABOVE: dict[str, Any] = {"titleAngle": 0, "titleAlign": "left", "titleX": 0, "titleY": -8}
"""An axis title above its axis, where a short chart has no room beside it."""
FEW, SHORT = 8, 4.0
"""So few values label an axis themselves; a logarithmic axis shorter than this factor ends at round numbers, or has none."""
WIDE = 300.0
"""Logarithmic axes that span more than this factor label powers of ten only."""


def chart(figure: Figure, rows: list[Row], title: str) -> Any:
    """The chart of a figure, or None when there is nothing to draw."""
    measured = [row for row in rows if not row.paper]
    if not measured:
        return None
    if figure.bars:
        return styled(choices(figure, measured), title)
    single = len({row.series for row in measured}) == 1 and figure.split
    values = [line_row(row, figure, bool(single)) for row in rows]
    several = len({row.split for row in measured}) > 1 and not single
    drawn = alt.layer(*line_layers(figure, values), data=data(values))
    drawn = drawn.properties(width=WIDTH if not several else WIDTH * 3 // 4, height=HEIGHT)
    if several:
        drawn = drawn.facet(column=alt.Column("split:N", title=None, header=alt.Header(labelFontSize=13)))
    return styled(drawn, title)


def line_row(row: Row, figure: Figure, single: bool) -> dict[str, Any]:
    """A mark as plain data; a figure of one series names its lines by what is varied."""
    name = f"{figure.split} {row.split}" if single and not isinstance(row.split, str) else row.split
    return {
        "series": name if single and not row.paper else row.series,
        "x": row.x, "y": row.y, "low": row.low, "high": row.high,
        "split": f"{figure.split} {row.split}" if not isinstance(row.split, str) else row.split,
        "paper": row.paper,
    }  # fmt: skip


def line_layers(figure: Figure, values: list[dict[str, Any]]) -> list[Any]:
    """Measured lines with their range, published ones dashed and grey."""
    xs, ys = ([value[name] for value in values] for name in ("x", "y"))
    few = sorted(set(xs)) if len(set(xs)) <= FEW and "x" not in figure.log else None
    spread = max(xs) / min(xs) if min(xs) > 0 else 1.0
    x = alt.X(
        "x:Q",
        title=figure.x_title,
        scale=scale("x" in figure.log, tight=spread > SHORT),
        axis=axis("x" in figure.log, xs, few),
    )
    y = alt.Y("y:Q", title=figure.y_title, scale=scale("y" in figure.log), axis=axis("y" in figure.log, ys))
    names = list(dict.fromkeys(value["series"] for value in values if not value["paper"]))
    theirs_names = list(dict.fromkeys(value["series"] for value in values if value["paper"]))
    shades = alt.Scale(domain=names + theirs_names, range=COLOURS[: len(names)] + GREYS[: len(theirs_names)])
    colour = alt.Color("series:N", title=None, scale=shades, legend=alt.Legend(symbolStrokeWidth=3))
    mine, theirs = alt.datum.paper == False, alt.datum.paper == True  # noqa: E712
    lines = alt.Chart().mark_line(strokeWidth=2).encode(x=x, y=y, color=colour).transform_filter(mine)
    marks = alt.Chart().mark_point(filled=True, size=45, opacity=1).encode(x=x, y=y, color=colour)
    ranges = alt.Chart().mark_rule(strokeWidth=1.5, opacity=0.7).encode(x=x, y="low:Q", y2="high:Q", color=colour)
    layers = [lines, marks.transform_filter(mine), ranges.transform_filter(mine)]
    if theirs_names:
        dashed = alt.Chart().mark_line(strokeWidth=1.5, strokeDash=[5, 4]).encode(x=x, y=y, color=colour)
        hollow = alt.Chart().mark_point(filled=False, size=60, shape="diamond").encode(x=x, y=y, color=colour)
        layers += [dashed.transform_filter(theirs), hollow.transform_filter(theirs)]
    return layers


def choices(figure: Figure, rows: list[Row]) -> Any:
    """A mark per series and choice: dots on a logarithmic axis, else bars."""
    names = series_names(figure, rows)
    values = [
        {"x": f"{row.x:,}" if isinstance(row.x, int) else str(row.x), "series": name, "y": row.y,
         "low": row.low, "high": row.high}
        for row, name in zip(rows, names, strict=True)
    ]  # fmt: skip
    logarithmic = "y" in figure.log
    order = [str(x) for x in dict.fromkeys(value["x"] for value in values)]
    alike = all(value["series"] == value["x"] for value in values) or len(set(names)) == 1
    y = alt.X("y:Q", title=figure.y_title, scale=scale(logarithmic), axis=axis(logarithmic, [row.y for row in rows]))
    place = (
        alt.Y("x:N", title=figure.x_title, sort=order, axis=alt.Axis(**ABOVE))
        if alike
        else alt.Y("series:N", title=None, sort=list(dict.fromkeys(names)))
    )
    shades = alt.Scale(domain=list(dict.fromkeys(names)), range=COLOURS)
    colour = alt.Color("series:N", legend=None, scale=shades)
    base = alt.Chart(data(values))
    mark = base.mark_point(filled=True, size=90, opacity=1) if logarithmic else base.mark_bar()
    beyond = base.mark_text(align="left", dx=8, fontSize=11).encode(x="high:Q", y=place)
    text = beyond.encode(text=alt.Text("y:Q", format=",.3~r"))
    ranges = base.mark_rule(strokeWidth=1.5).encode(x="low:Q", x2="high:Q", y=place, color=alt.value("#333"))
    count = len({value["x"] if alike else value["series"] for value in values})
    panels = 1 if alike else len(order)
    width = WIDTH if panels == 1 else max(190, 780 // panels)
    drawn = alt.layer(mark.encode(x=y, y=place, color=colour), ranges, text)
    drawn = drawn.properties(width=width, height=max(90, 26 * count))
    if not alike:
        header = alt.Header(labelFontSize=13, labelExpr=f"'{figure.x_title}: ' + datum.value")
        drawn = drawn.facet(column=alt.Column("x:N", title=None, sort=order, header=header), columns=3)
    return drawn


def series_names(figure: Figure, rows: list[Row]) -> list[str]:
    """Series, with what is varied beside x."""
    if not figure.split:
        return [row.series for row in rows]
    several = len({row.series for row in rows}) > 1
    told = [f"{figure.split} {row.split:,}" if isinstance(row.split, int) else str(row.split) for row in rows]
    return [f"{row.series}, {told}" if several else told for row, told in zip(rows, told, strict=True)]


def heat_map(cells: list[dict[str, Any]], title: str, legend: str) -> Any:
    """Engines × workloads: the number in each cell, coloured by how far it is from its column's best."""
    columns = list(dict.fromkeys(cell["workload"] for cell in cells))
    x = alt.X("workload:N", title=None, sort=columns, axis=alt.Axis(labelAngle=-40, labelLimit=220, orient="top"))
    y = alt.Y("engine:N", title=None, sort=alt.EncodingSortField("rank", op="mean"))
    base = alt.Chart(data(cells)).encode(x=x, y=y)
    shade = alt.Color(
        "factor:Q", title=legend, scale=alt.Scale(type="log", scheme="yellowgreenblue", reverse=False),
        legend=alt.Legend(format=",.2~r"),
    )  # fmt: skip
    dark = alt.condition("datum.dark", alt.value("white"), alt.value("#222"))
    boxes, numbers = base.mark_rect().encode(color=shade), base.mark_text(fontSize=12).encode(text="text:N", color=dark)
    engines = len({cell["engine"] for cell in cells})
    return styled(alt.layer(boxes, numbers).properties(width=86 * len(columns), height=27 * engines), title)


def data(values: list[dict[str, Any]]) -> Any:
    """Rows of a chart."""
    return cast("Any", alt.Data)(values=values)


def scale(logarithmic: bool, tight: bool = False) -> Any:
    """Logarithmic, or from zero on; a tight one ends where the values do."""
    if logarithmic:
        return alt.Scale(type="log", nice=False, padding=12) if tight else alt.Scale(type="log", nice=True)
    return alt.Scale(zero=True, nice=True)


def axis(logarithmic: bool, values: list[float], few: list[float] | None = None) -> Any:
    """Labels that do not overlap; on a logarithmic axis those of 1, 2 and 5, or of powers of ten when it is long; where values
    are few, their own."""
    if few is not None:
        return alt.Axis(format=FORMAT, labelOverlap=True, values=few)
    if not logarithmic:
        return alt.Axis(format=FORMAT, labelOverlap=True, tickCount=7)
    positive = [value for value in values if value > 0]
    shown = "['1.0']" if positive and max(positive) / min(positive) > WIDE else "['1.0', '2.0', '5.0']"
    lead = "replace(format(datum.value, '.1e'), regexp('e.*'), '')"
    return alt.Axis(
        labelExpr=f"indexof({shown}, {lead}) >= 0 ? format(datum.value, '{FORMAT}') : ''",
        labelOverlap="greedy",
        labelSeparation=6,
    )


def styled(drawn: Any, title: str) -> Any:
    """Fonts and frame that all charts share."""
    return (
        drawn.properties(title=alt.TitleParams(title, fontSize=15, anchor="start", offset=12))
        .configure_axis(labelFontSize=12, titleFontSize=13, titleFontWeight="normal", gridColor="#e6e6e6")
        .configure_legend(labelFontSize=12, titleFontSize=12, labelLimit=260)
        .configure_view(stroke="#cccccc")
        .properties(background="white", padding=12)
    )


def save(drawn: Any, file: Path) -> None:
    """Write a chart as PNG."""
    drawn.save(str(file), ppi=DOTS_PER_INCH)
