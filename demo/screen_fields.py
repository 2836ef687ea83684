"""Write frontend/src/lib/fields.ts from the server's table of fields: `python -m demo.screen_fields [file]`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django

if TYPE_CHECKING:
    from dlqadmin.deadletters.search.fields import DeadLetterField

MODULE = Path(__file__).resolve().parent.parent / "frontend" / "src" / "lib" / "fields.ts"
HEAD = """\
/**
 * The fields by which dead letters are filtered. Generated from the server's table of fields by
 * `python -m demo.screen_fields`; do not edit.
 */
export interface FieldRow {
  /** The name in addresses and facets. */
  name: Field;
  /** The name in the query language. */
  term: string;
  label: string;
  kind: "name" | "exact" | "text" | "choice" | "id" | "number";
  /** The position among the facets. */
  facet?: number;
  /** The words of the query language for values of the field, where they differ. */
  words?: Readonly<Record<string, string>>;
}
"""


def render() -> str:
    """Return the module, in the format of prettier: one field per line."""
    # The table imports models, which need Django's settings.
    from dlqadmin.deadletters.search.fields import FILTER_FIELDS

    fields = [field for field in FILTER_FIELDS.values() if field.term]
    names = "\n".join(f"  | {_literal(field.name)}" for field in fields)
    rows = "\n".join(f"  {_literal(_row(field))}," for field in fields)
    return f"{HEAD}\nexport type Field =\n{names};\n\nexport const FIELDS: readonly FieldRow[] = [\n{rows}\n];\n"


def _row(field: DeadLetterField) -> dict[str, Any]:
    words = {value: word for word, value in field.words.items() if word != value}
    return {
        "name": field.name,
        "term": field.term,
        "label": field.label,
        "kind": str(field.kind),
        **({"facet": field.facet} if field.facet else {}),
        **({"words": words} if words else {}),
    }


def _literal(value: object) -> str:
    """Return a TypeScript literal. The names of members need no quotes."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name}: {_literal(member)}" for name, member in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


def main() -> None:
    """Write the module."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dlqadmin.settings")
    django.setup()
    module = Path(sys.argv[1]) if len(sys.argv) > 1 else MODULE
    module.write_text(render())


if __name__ == "__main__":
    main()
