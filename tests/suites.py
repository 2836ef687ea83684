"""The test suites, and the plans that run them.

A suite is one pytest process with one mark. A plan is a list of lanes, which run at the same time. The suites of a lane
run one after the other. Browser, broker and Spark tests wait for much of their time, so two lanes of them do not fill
two cores. Suites that only compute have a third one and are `nice`: they fill the time in which the others wait, and do
not make them late.

`test` is what every change must pass. Its tests of the dashboard's SQL run on PostgreSQL, those of `fast` on SQLite,
those of `soak` on both.
`fast` is the part of it that needs no real service and no slow test.
`soak` holds the tests that `test` leaves out, by this rule: a test is marked `soak` if it kills or freezes processes
at random or in series, waits for real time-outs, needs tens of thousands of records, shows in a browser or on a real
service what shorter tests show in parts, or tries hundreds of random examples of a property that `test` tries with
dozens. It also tries every property with new random examples.
`images` builds the container images and runs compose.yaml with them, which needs Docker.
`interop` runs real programs of other frameworks, which Maven, npm and Go build.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FRONTEND = "frontend"  # vitest runs this suite
COMPUTES = 5  # enough to let a browser or a broker answer first, and too little to starve


class Suite(NamedTuple):
    """A named set of tests: the folders to collect, the mark to choose by, and the real services that it shares."""

    name: str
    rooms: tuple[str, ...]
    mark: str
    processes: int = 1
    with_broker: bool = False
    with_postgres: bool = False
    with_registry: bool = False
    also: str = ""  # a further condition on the marks
    nice: int = 0  # how far the processes stand back behind those of other suites

    def options(self, *, soak: bool = False) -> list[str]:
        """Return pytest's options."""
        chosen = "(soak or hypothesis or sql)" if soak else "not soak"
        marks = [self.mark, *([self.also] if self.also else []), chosen]
        spread = ["--numprocesses", str(self.processes), "--dist", "loadfile"] if self.processes > 1 else []
        examples = ["--hypothesis-profile", "random"] if soak else []
        return [*self.rooms, "-m", " and ".join(marks), *spread, *examples]


UNIT = Suite("unit", ("tests",), "unit", processes=2, nice=COMPUTES)
FAST = UNIT._replace(name="unit, fast", also="not slow")
UNIT_TEST = UNIT._replace(also="not sql")
BROKER = Suite(
    "broker",
    (
        "tests/benchmarks",
        "tests/broker",
        "tests/demo",
        "tests/dlqadmin/broker",
        "tests/dlqadmin/upgrades",
        "tests/security",
        "tests/serve",
    ),
    "broker",
    processes=3,  # these tests mostly wait
    with_broker=True,
    with_registry=True,
)
POSTGRES = Suite(
    "dashboard on PostgreSQL",
    ("tests/dlqadmin", "tests/security"),
    "unit",
    processes=2,
    with_postgres=True,
    also="sql",
    nice=COMPUTES,
)
SPARK = Suite("spark", ("tests/spark",), "spark", with_broker=True)
BROWSER = Suite("browser", ("tests/browser", "tests/demo", "tests/dlqadmin/upgrades", "tests/security"), "browser")
CHAOS = Suite("chaos", ("tests/chaos",), "chaos")
IMAGES = Suite("images", ("tests/images",), "images")
INTEROP = Suite("interop", ("tests/interop",), "interop", with_broker=True)
VITEST = Suite(FRONTEND, (), "", nice=COMPUTES)

SUITES = (UNIT, BROKER, POSTGRES, SPARK, BROWSER, CHAOS, IMAGES, INTEROP)

PLANS: dict[str, tuple[tuple[Suite, ...], ...]] = {
    "fast": ((FAST,), (VITEST,)),
    "test": ((BROWSER, SPARK), (BROKER,), (UNIT_TEST, POSTGRES, VITEST)),
    "images": ((IMAGES,),),
    "interop": ((INTEROP,),),
    "soak": ((UNIT, BROKER, POSTGRES, SPARK, BROWSER, CHAOS),),
}


def is_collected(mark: str, path: Path) -> bool:
    """Return whether a suite collects the tests with this mark in that file."""
    return any(_holds(suite, path) for suite in SUITES if suite.mark == mark)


def is_collected_on_postgres(path: Path) -> bool:
    """Return whether the tests of that file that are marked `sql` run on PostgreSQL."""
    return _holds(POSTGRES, path)


def _holds(suite: Suite, path: Path) -> bool:
    return any(path.is_relative_to(ROOT / room) for room in suite.rooms)
