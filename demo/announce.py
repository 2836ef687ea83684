"""Print the address and the login once the demonstration answers: `python -m demo.announce`.

It waits for the dashboard and the engine.
"""

from __future__ import annotations

import sys
from pathlib import Path

import httpx

from demo.environment import demo_environment, engine_token
from demo.network import wait_until

READY_TIMEOUT_S = 180
CONNECTORS = {path.stem for path in Path(__file__).with_name("connectors").glob("*.properties")}


def everything_answers(web: str, engine: str, token: str) -> bool:
    """Return whether the dashboard answers and the engine lists the demo's connectors."""
    try:
        signed_out = httpx.get(f"{web}/api/v1/session")
        running = httpx.get(f"{engine}/connectors", headers={"Authorization": f"Bearer {token}"})
        return signed_out.is_success and running.is_success and set(running.json()) >= CONNECTORS
    except (httpx.HTTPError, ValueError):
        return False


def main() -> None:
    """Wait for the services, then print the address and the login."""
    env = demo_environment()
    web = f"http://{env['WEB_HOST']}:{env['WEB_PORT']}"
    try:
        token = engine_token(env)
        wait_until(lambda: everything_answers(web, env["ENGINE_URL"], token), "The demonstration", READY_TIMEOUT_S, 0.5)
    except TimeoutError as late:
        sys.exit(f"{late}: see the messages above")
    password = Path(env["LOCAL_DIR"], "demo-password").read_text().strip()
    print(f"\n  dlqadmin is up: {web}\n  sign in as demo with the password {password}\n", flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
