"""Rewrite the table of docs/performance.md from the results: `python -m benchmarks.document`."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from benchmarks.results import RESULTS

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
BEGIN, END = "<!-- the table: python -m benchmarks.document -->\n", "<!-- end of the table -->\n"
HEAD = "| benchmark | ours | anchor | ratio | goal | rounds |\n| --- | ---: | ---: | ---: | ---: | ---: |\n"
ANCHORS = {
    "connect": "Kafka Connect",
    "copy": "bare loop around librdkafka",
    "dataframes-10": "`from_json`, PERMISSIVE",
    "dataframes-source": "Kafka's source",
    "dataframes": "without a guard",
    "exactly-once": "the same at least once",
    "idle": "1 connector",
    "latency": "Kafka Connect",
    "many-small": "Kafka Connect",
    "mirror": "MirrorMaker 2",
    "scale-machine": "1 process",
    "scale": "1 task",
    "sink-lanes": "1 lane",
    "sink": "loop by hand",
    "start": "Kafka Connect",
}


def main() -> None:
    """Replace the text between the marks."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    results = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))]
    PAGE.write_text(before + BEGIN + HEAD + "".join(map(row, results)) + END + after)


def row(result: dict[str, Any]) -> str:
    """Return a result as a row of the table."""
    name, goal, ratio = result["name"], result["goal"], result["ratio"]
    anchor = next((text for prefix, text in ANCHORS.items() if name.startswith(prefix)), "")
    cells = [
        f"{name}, {result['unit']}",
        figures(result["ours"]),
        "" if ratio is None else f"{figures(result['anchor'])} {anchor}",
        "" if ratio is None else f"{ratio:.2f}",
        "" if goal is None else f"{goal:g}" if ratio is not None else f"{BOUND[result['better']]} {goal:,g}",
        str(result["rounds"]),
    ]
    return f"| {' | '.join(cells)} |\n"


BOUND = {"higher": "at least", "lower": "at most"}


def figures(values: list[float]) -> str:
    """Return the median, and the range if there are several values."""
    middle = figure(statistics.median(values))
    return middle if len(values) == 1 else f"{middle} ({figure(min(values))} – {figure(max(values))})"


def figure(value: float) -> str:
    """Format a number with three significant digits, or without decimals from 1000 on."""
    return f"{value:,.0f}".replace(",", " ") if value >= 1000 else f"{value:.3g}"


if __name__ == "__main__":
    main()
