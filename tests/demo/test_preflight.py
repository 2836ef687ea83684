"""What is missing or taken is told in one sentence each, before anything starts."""

import socket
from pathlib import Path

import pytest

from demo import preflight
from demo.environment import demo_environment
from dlqadmin.host.network import HOST, free_ports


def test_this_machine_lacks_nothing() -> None:
    assert list(preflight.missing_programs()) == []


def test_a_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    told = "\n".join(preflight.missing_programs())
    assert "Java 17 or newer is needed, but none is on the PATH" in told
    assert "Node 20 or newer is needed, but none is on the PATH" in told


def test_a_program_that_is_too_old_is_named_with_its_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, version in {"java": 'openjdk version \\"11.0.2\\"', "node": "v18.19.0", "npm": "9"}.items():
        program = tmp_path / name
        program.write_text(f'#!/bin/sh\necho "{version}"\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    assert list(preflight.missing_programs()) == [
        "Java 17 or newer is needed; the one on the PATH is 11.",
        "Node 20 or newer is needed; the one on the PATH is 18.",
    ]


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("KAFKA_BOOTSTRAP_SERVERS", f"{HOST}:{{port}}"),
        ("REDIS_URL", f"redis://{HOST}:{{port}}/0"),
        ("ENGINE_URL", f"http://{HOST}:{{port}}"),
        ("WEB_PORT", "{port}"),
    ],
)
def test_a_port_in_use_is_named_with_the_variable_that_moves_it(name: str, address: str) -> None:
    env = free_addresses()
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
        env[name] = address.format(port=port)
        assert list(preflight.used_ports(env)) == [
            f"Port {port} is in use. Stop the program that uses it, or set another port with {name}=…"
        ]


def test_free_ports_are_no_problem() -> None:
    assert list(preflight.used_ports(free_addresses())) == []


def free_addresses() -> dict[str, str]:
    broker, _controller, redis, engine, web = free_ports(5)
    env = demo_environment({})
    env["KAFKA_BOOTSTRAP_SERVERS"] = f"{HOST}:{broker}"
    env["REDIS_URL"] = f"redis://{HOST}:{redis}/0"
    env["ENGINE_URL"] = f"http://{HOST}:{engine}"
    env["WEB_PORT"] = str(web)
    return env
