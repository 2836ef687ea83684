"""Pages of the documentation whose code is run."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to"


def blocks_of(page: str) -> dict[str, str]:
    """Return the last fenced block of each language of a how-to page."""
    return dict(re.findall(r"```(\w+)\n(.*?)```", (HOW_TO / page).read_text(), re.DOTALL))


def install(blocks: dict[str, str], folder: Path, module: str) -> None:
    """Write the page's module into the folder, as a distribution with the metadata of its pyproject.toml."""
    project = tomllib.loads(blocks["toml"])["project"]
    (folder / f"{module}.py").write_text(blocks["python"])
    info = folder / f"{project['name']}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    rows = [
        line
        for group, offers in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in offers.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(rows))
