"""The whole product as `make run` starts it, on ports and in a directory of its own."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from demo.environment import ROOT, demo_environment
from dlqadmin.host.network import HOST, free_ports, is_answering, wait_until

START_TIMEOUT_S = 180
MARK_TIMEOUT_S = 120
STOP_TIMEOUT_S = 40
SENT = 1732
ADD_USERS = """
from django.contrib.auth.models import Group, User
for name, role in {roles!r}.items():
    User.objects.create_user(name, password={password!r}).groups.add(Group.objects.get(name=role))
"""

# Open tabs have streams, for which a server would wait before it ends.
SERVER_OPTIONS = ("--no-proxy-headers", "--timeout-graceful-shutdown", "3")


class Product:
    """One running product. The trickle is off, so that the numbers at the mark stay."""

    def __init__(self, home: Path, **settings: str) -> None:
        """Keep everything in `home`. `settings` are further variables of the environment."""
        self.home = home
        broker, _controller, redis, web, engine = free_ports(5)
        self.bootstrap_servers = f"{HOST}:{broker}"
        self.web = f"http://{HOST}:{web}"
        self.engine = f"http://{HOST}:{engine}"
        self.env = {
            **os.environ,
            "LOCAL_DIR": str(home),
            "DATABASE_URL": os.environ.get("PRODUCT_DATABASE_URL") or f"sqlite:///{home}/dlqadmin.sqlite3",
            "KAFKA_BOOTSTRAP_SERVERS": self.bootstrap_servers,
            "REDIS_URL": f"redis://:{secrets.token_urlsafe(24)}@{HOST}:{redis}/0",
            "ENGINE_URL": self.engine,
            "WEB_HOST": HOST,
            "WEB_PORT": str(web),
            "DEMO_TRICKLE_PER_MINUTE": "0",
            "DEMO_PAST_WEEK": "false",
            "SIGN_IN_RATE": "1000/minute",
            "OBSERVED_SETTLE_S": "3",
            "DLQADMIN_URL": self.web,
            **settings,
        }
        self.log = home / "run.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Product:
        """Start everything; return when the first batch is through and indexed."""
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", "demo.run"]
            self._process = subprocess.Popen(command, cwd=ROOT, env=self.env, stdout=log, stderr=log)
        try:
            wait_until(self._announced, "The product", START_TIMEOUT_S, 0.5)
            wait_until(self._at_the_mark, "The first batch", MARK_TIMEOUT_S, 1)
        except (TimeoutError, ChildProcessError) as problem:
            self.stop()
            raise RuntimeError(f"{problem}; its output begins:\n{self.output()[:6000]}") from problem
        return self

    def interrupt(self) -> int:
        """Press Ctrl-C; return the exit code."""
        if self._process is None:
            return 0
        self._process.send_signal(signal.SIGINT)
        code = self._process.wait(STOP_TIMEOUT_S)
        self._process = None
        return code

    def stop(self) -> None:
        """End it, whatever it does."""
        try:
            self.interrupt()
        except subprocess.TimeoutExpired:
            for pid in self.processes():
                os.kill(pid, signal.SIGKILL)

    def processes(self) -> list[int]:
        """Return the ids of all processes that were started for this product, orphans too."""
        mark = f"LOCAL_DIR={self.home}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    if mark in (entry / "environ").read_bytes().split(b"\0"):
                        found.append(int(entry.name))
                except OSError:  # it ended meanwhile
                    continue
        return found

    def output(self) -> str:
        """Return what the processes printed."""
        return self.log.read_text(errors="replace")

    @property
    def password(self) -> str:
        """The demo user's."""
        return Path(self.home, "demo-password").read_text().strip()

    def add_users(self, roles: dict[str, str]) -> str:
        """Make people who may sign in, each with a role; return the password of them all."""
        password = secrets.token_urlsafe(12)
        told = ADD_USERS.format(roles=roles, password=password)
        command = [sys.executable, "manage.py", "shell", "--command", told]
        subprocess.run(command, cwd=ROOT, env=demo_environment(self.env), check=True, stdout=subprocess.DEVNULL)
        return password

    def add_administrator(self, name: str) -> str:
        """Make a superuser; return the password."""
        password = secrets.token_urlsafe(12)
        env = demo_environment({**self.env, "DJANGO_SUPERUSER_PASSWORD": password})
        command = [sys.executable, "manage.py", "createsuperuser", "--noinput", "--username", name, "--email", ""]
        subprocess.run(command, cwd=ROOT, env=env, check=True, stdout=subprocess.DEVNULL)
        return password

    @contextmanager
    def another_web(self, **settings: str) -> Iterator[str]:
        """Run a second web server of this product with other settings; yield its URL."""
        [port] = free_ports(1)
        command = [sys.executable, "-m", "uvicorn", "dlqadmin.asgi:application", "--host", HOST, "--port", str(port)]
        env = demo_environment({**self.env, **settings})
        with self.log.open("ab") as log:
            server = subprocess.Popen([*command, *SERVER_OPTIONS], cwd=ROOT, env=env, stdout=log, stderr=log)
        try:
            wait_until(lambda: is_answering(HOST, port), "The second web server", START_TIMEOUT_S)
            yield f"http://{HOST}:{port}"
        finally:
            server.terminate()
            server.wait(STOP_TIMEOUT_S)

    @contextmanager
    def client(self, username: str = "demo", password: str = "") -> Iterator[httpx.Client]:
        """Yield a client of the dashboard that is signed in; as the demo user unless another one is named."""
        with httpx.Client(base_url=f"{self.web}/api/v1/", timeout=30) as client:
            client.get("session").raise_for_status()
            client.headers.update({"X-CSRFToken": client.cookies["csrftoken"], "Referer": self.web})
            credentials = {"username": username, "password": password or self.password}
            client.post("session", json=credentials).raise_for_status()
            client.headers["X-CSRFToken"] = client.cookies["csrftoken"]
            yield client

    def engine_json(self, path: str) -> Any:
        """Return the engine's answer to a GET."""
        headers = {"Authorization": f"Bearer {self.engine_token}"}
        return httpx.get(f"{self.engine}/{path}", headers=headers, timeout=30).raise_for_status().json()

    @property
    def engine_token(self) -> str:
        """The token that engine and dashboard share."""
        return Path(self.home, "engine-token").read_text().strip()

    def _announced(self) -> bool:
        if self._process is not None and self._process.poll() is not None:
            raise ChildProcessError(f"The product ended with code {self._process.returncode}.")
        return "dlqadmin is up" in self.output()

    def _at_the_mark(self) -> bool:
        with self.client() as client:
            balance = client.get("metrics/balance").raise_for_status().json()
            index = client.get("health").raise_for_status().json()["index"]
        return bool(balance["consumed"] == SENT and index["records_behind"] == 0)
