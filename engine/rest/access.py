"""Access rules for a worker's clients, from its options. A token is generated if none is configured."""

from __future__ import annotations

import os
import re
import secrets
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp

from engine.config.options import Problem
from engine.config.rest import RestConfig
from engine.config.worker import WorkerConfig
from engine.errors import ConfigError
from engine.rest.credentials import Credentials
from engine.rest.request_checks import AccessRules

BASIC_EXTENSION = "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
EXTENSIONS = (BASIC_EXTENSION, BASIC_EXTENSION.rpartition(".")[2])
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
HOW_TO = "set rest.auth.token.file, or rest.extension.classes with rest.basic.auth.credentials.file"


def access_rules(worker: WorkerConfig, env: Mapping[str, str]) -> tuple[AccessRules, Path | None]:
    """Return the rules, and the file of the generated token if no credentials are configured.

    Raises ConfigError if clients of other machines would need no credentials.
    """
    rest = worker.rest
    if problems := _problems(rest):
        raise ConfigError(tuple(problems))
    generated = None
    if not rest.is_open and not _is_configured(rest):
        generated = _generated_token(worker.group_id, env)
    access = AccessRules(
        hosts=allowed_hosts(rest),
        credentials=None if rest.is_open else _credentials(rest, generated),
        origins=rest.allowed_origins,
        methods=rest.allowed_methods,
        max_request_bytes=rest.max_request_bytes,
    )
    return access, generated


def allowed_hosts(rest: RestConfig) -> frozenset[str]:
    """Return the host names that requests may name: of the listeners, the advertised and the configured ones."""
    hosts = {listener.host for listener in rest.listeners if not listener.is_wildcard}
    if any(listener.is_loopback or listener.is_wildcard for listener in rest.listeners):
        hosts.update(LOOPBACK_NAMES)
    if any(listener.is_wildcard for listener in rest.listeners):
        hosts.add(socket.gethostname())
    if rest.advertised_host:
        hosts.add(rest.advertised_host)
    return frozenset(host.lower().removesuffix(".") for host in (*hosts, *rest.allowed_hosts))


def _problems(rest: RestConfig) -> list[Problem]:
    problems: list[Problem] = [
        ("rest.extension.classes", name, f"is not supported; the only supported class is {BASIC_EXTENSION}")
        for name in rest.extensions
        if name not in EXTENSIONS
    ]
    if not problems and rest.extensions and not rest.users_file:
        name = "rest.basic.auth.credentials.file"
        problems.append((name, None, "is required by rest.extension.classes; set it to a file of user=password lines"))
    foreign = [listener for listener in rest.listeners if not listener.is_loopback]
    if foreign and not _is_configured(rest):
        shown = f"{foreign[0].scheme}://{foreign[0].address}"
        text = f"is reachable from other machines without authentication; {HOW_TO}, or listen on 127.0.0.1"
        problems.append(("listeners", shown, text))
    if rest.is_open and _is_configured(rest):
        problems.append(
            ("rest.authentication", "none", "contradicts the configured credentials; remove one of the two")
        )
    if rest.is_open and "*" in rest.allowed_origins:
        text = "would give every web page access, because rest.authentication is none; list the origins"
        problems.append(("access.control.allow.origin", "*", text))
    return problems


def _is_configured(rest: RestConfig) -> bool:
    return bool(rest.token or rest.token_file or rest.users_file)


def _credentials(rest: RestConfig, generated: Path | None) -> Credentials:
    token_file = Path(rest.token_file) if rest.token_file else generated
    users_file = Path(rest.users_file) if rest.users_file else None
    credentials = Credentials(rest.token, token_file, users_file)
    if problems := credentials.problems():
        raise ConfigError(tuple(problems))
    return credentials


def _generated_token(group_id: str, env: Mapping[str, str]) -> Path:
    """Return the token file of this user for that group of workers. It is made at the first start and kept."""
    home = env.get("XDG_STATE_HOME") or str(Path(env.get("HOME") or "~").expanduser() / ".local" / "state")
    path = Path(home, "dlqadmin", f"rest-token-{re.sub(r'[^A-Za-z0-9._-]', '_', group_id)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            write_private(path, secrets.token_urlsafe(32) + "\n")
        status = path.stat()
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home directory
        raise ConfigError((("rest.auth.token.file", str(path), f"can't be created: {error}; {HOW_TO}"),)) from error
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        text = "must be readable by its owner only; delete it, and the next start creates a new one"
        raise ConfigError((("rest.auth.token.file", str(path), text),))
    return path


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, completely or not at all. An existing file stays."""
    number, draft = mkstemp(prefix=path.name, dir=path.parent)  # mode 0600
    with os.fdopen(number, "w") as file:
        file.write(text)
    with suppress(FileExistsError):  # another worker that started at the same time was first
        path.hardlink_to(draft)
    Path(draft).unlink()
