"""`python -m tests.fuzz [seconds]`: mutated bytes into every reader, guided by coverage, until one raises."""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["engine"]):
    from tests.fuzz.targets import SEEDS, targets

SECONDS = 60
MAX_BYTES = 4096
HOME = Path(".local/fuzz")  # what was found so far, and inputs that something fell over


def main() -> None:
    """Fuzz; the first byte of an input chooses its target. The exit code is libFuzzer's: 0, or 77 with the input."""
    every = targets()

    def run(data: bytes) -> None:
        if data:
            every[data[0] % len(every)](data[1:])

    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    corpus = HOME / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS):
        for target in range(len(every)):
            Path(corpus, f"{number}-{target}").write_bytes(bytes([target]) + seed)
    limits = [f"-max_total_time={seconds}", f"-max_len={MAX_BYTES}", "-timeout=10", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={HOME}/", str(corpus)], run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
