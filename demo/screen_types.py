"""Write frontend/src/api/schema.ts, the types of the API's documents: `python -m demo.screen_types`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import django

FRONTEND = Path(__file__).resolve().parent.parent / "frontend"
MODULE = FRONTEND / "src" / "api" / "schema.ts"
PROGRAM = FRONTEND / "node_modules" / ".bin" / "openapi-typescript"
OPTIONS = (
    "--export-type",
    "--empty-objects-unknown",
    "--root-types",
    "--root-types-no-schema-prefix",
    "--root-types-keep-casing",
)


def render() -> str:
    """Return the module. Raises CalledProcessError if openapi-typescript fails."""
    # The schema imports the views, which need Django's settings.
    from drf_spectacular.generators import SchemaGenerator

    schema: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    schema["paths"] = {}  # the frontend names its requests itself
    done = subprocess.run(
        (PROGRAM, *OPTIONS), input=json.dumps(schema, default=str), capture_output=True, text=True, check=True
    )
    return done.stdout


def main() -> None:
    """Write the module."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dlqadmin.settings")
    django.setup()
    MODULE.write_text(render())


if __name__ == "__main__":
    main()
