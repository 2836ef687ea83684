"""The command line arguments of `dlq`."""

from __future__ import annotations

import argparse
import re

EPILOG = """\
DLQ_URL is the dashboard's address, such as https://dlq.example.com. DLQ_TOKEN is an API token of a dashboard user;
create one on the profile screen. Exit status: 0 done, 1 a watched replay did not pass, 2 failed.
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of `dlq`; `command` names the subcommand."""
    top = argparse.ArgumentParser(
        prog="dlq", description="Show dead letters and replay them.", epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="print JSON")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    listing = commands.add_parser("list", parents=[shared], help="list dead letters, newest first")
    listing.add_argument(
        "query", nargs="?", default="", help="query as in the query bar: 'exception:DataException after:-6h'"
    )
    listing.add_argument("--limit", type=_positive, default=20, metavar="N")

    show = commands.add_parser("show", parents=[shared], help="show one dead letter")
    show.add_argument("id", type=_positive)

    plan = commands.add_parser("plan", parents=[shared], help="plan a replay; this writes nothing to Kafka")
    plan.add_argument("--filter", required=True, metavar="QUERY", help="query as in the query bar")
    plan.add_argument("--target", metavar="TOPIC", help="target topic (default: the origin topic of each record)")
    plan.add_argument("--rate", type=_natural, metavar="N", help="records per second; 0 means no limit")
    plan.add_argument("--title", default="")

    replay = commands.add_parser("replay", parents=[shared], help="run a planned replay")
    replay.add_argument("replay", type=_replay, metavar="R-12")
    replay.add_argument("--reason", required=True)
    replay.add_argument("--yes", action="store_true", help="run it without confirmation")
    replay.add_argument(
        "--resolve-groups", action="store_true",
        help="resolve each group whose chosen records all pass",
    )  # fmt: skip
    replay.add_argument("--typed", default="", metavar="WORD", help="the confirmation word of the plan")

    watch = commands.add_parser("watch", parents=[shared], help="follow a replay until its outcomes are known")
    watch.add_argument("replay", type=_replay, metavar="R-12")
    watch.add_argument("--every", type=_positive, default=1, metavar="SECONDS")

    annotate = commands.add_parser("annotate", parents=[shared], help="mark an event, such as a deployment, in charts")
    annotate.add_argument("title")
    annotate.add_argument("--kind", choices=("deploy", "note"), default="deploy")
    annotate.add_argument("--at", metavar="TIME", help="ISO 8601 (default: now)")
    annotate.add_argument("--until", metavar="TIME", help="ISO 8601, for an event with a duration")
    annotate.add_argument("--text", default="")
    annotate.add_argument("--url", default="", help="such as the pipeline's page; https only")
    annotate.add_argument("--topic", default="")
    annotate.add_argument("--connector", default="")
    annotate.add_argument("--source", default="dlq", metavar="NAME", help="the program that reports it")
    annotate.add_argument("--key", metavar="KEY", help="a repeated call with this key makes no second annotation")
    return top


def _replay(text: str) -> int:
    found = re.fullmatch(r"(?:R-)?([1-9]\d{0,17})", text, re.ASCII | re.IGNORECASE)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a replay. Write it like R-12")
    return int(found[1])


def _positive(text: str) -> int:
    number = _natural(text)
    if number == 0:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _natural(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)
