"""A real OpenID provider on loopback: discovery, codes with PKCE, RS256 ID tokens, keys and sign-out."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.support.http_target import HttpTarget, Reply, Seen

CLIENT_ID, CLIENT_SECRET = "dlqadmin", "the secret of a client"
Claims = dict[str, Any]


FORM = """<!doctype html><html lang="en"><title>Provider</title><h1>Sign in to the provider</h1>
<form method="post"><label>Account <input name="account" autofocus></label><button>Continue</button></form></html>"""
SESSION = "provider_session"  # cookies of a host are shared by all its ports


class OpenIdProvider:
    """A provider whose person `person` signs in without a form. `forge` may change each ID token.

    If there are `people`, by account, a form asks for the account, and a cookie keeps the session until the sign-out.
    """

    def __init__(self) -> None:
        self.person: Claims = {"sub": "1", "preferred_username": "ada", "groups": []}
        self.people: dict[str, Claims] = {}
        self.forge: Callable[[Claims], str | None] = lambda claims: None
        self.metadata: Claims = {}  # overrides
        self.key = _key()
        self._codes: dict[str, tuple[dict[str, str], Claims]] = {}
        self._sessions: dict[str, str] = {}  # the account, by the value of the cookie
        self._server = HttpTarget(self._answer)
        self.issuer = self._server.url

    def close(self) -> None:
        self._server.close()

    @property
    def seen(self) -> list[Seen]:
        return self._server.seen

    def settings(self, **more: Any) -> Claims:
        """Return the entry of OIDC_PROVIDERS for this provider."""
        return {"issuer": self.issuer, "client_id": CLIENT_ID, "secret": CLIENT_SECRET, **more}

    def sign(self, claims: Claims, key: RSAKey | None = None) -> str:
        """Return a signed ID token."""
        return jwt.encode({"alg": "RS256", "kid": "1"}, claims, key or self.key, algorithms=["RS256"])

    def _answer(self, seen: Seen) -> Reply:
        path = urlsplit(seen.path).path
        if path == "/.well-known/openid-configuration":
            return _json(self._discovery())
        if path == "/jwks":
            return _json({"keys": [self.key.as_dict(private=False)]})
        if path == "/authorize":
            return self._authorize(seen, dict(parse_qsl(urlsplit(seen.path).query)))
        if path == "/token":
            return self._token(seen, {name: one for name, [one] in parse_qs(seen.body.decode()).items()})
        if path == "/end-session" and self.people:
            return self._end_session(seen, dict(parse_qsl(urlsplit(seen.path).query)))
        return Reply(404)

    def _discovery(self) -> Claims:
        paths = {
            "authorization_endpoint": "authorize",
            "token_endpoint": "token",
            "jwks_uri": "jwks",
            "end_session_endpoint": "end-session",
        }
        return {
            "issuer": self.issuer,
            **{name: f"{self.issuer}/{path}" for name, path in paths.items()},
            "id_token_signing_alg_values_supported": ["RS256"],
            **self.metadata,
        }

    def _authorize(self, seen: Seen, asked: dict[str, str]) -> Reply:
        """Answer with a code at once if the person has a session here, and otherwise with the form."""
        wanted = {"response_type": "code", "client_id": CLIENT_ID, "code_challenge_method": "S256"}
        if not wanted.items() <= asked.items() or not asked.get("nonce") or not asked.get("code_challenge"):
            return Reply(400, b"not the request of a client with PKCE and a nonce")
        if not self.people:
            return self._code(asked, self.person)
        if seen.method == "POST":
            account = dict(parse_qsl(seen.body.decode())).get("account", "")
            if account in self.people:
                value = secrets.token_urlsafe(16)
                self._sessions[value] = account
                cookie = f"{SESSION}={value}; HttpOnly; Path=/; SameSite=Lax"
                return self._code(asked, self.people[account], {"Set-Cookie": cookie})
        elif account := self._sessions.get(_session(seen), ""):
            return self._code(asked, self.people[account])
        return Reply(200, FORM.encode(), {"Content-Type": "text/html; charset=utf-8"})

    def _code(self, asked: dict[str, str], person: Claims, headers: Mapping[str, str] = {}) -> Reply:
        """Send the browser back with a new code."""
        code = secrets.token_urlsafe(16)
        self._codes[code] = asked, person
        back = urlencode({"code": code, "state": asked["state"], "iss": self.issuer})
        return Reply(302, headers={**headers, "Location": f"{asked['redirect_uri']}?{back}"})

    def _end_session(self, seen: Seen, asked: dict[str, str]) -> Reply:
        """End the session of the cookie, and send the browser back. The hint must be an ID token of ours."""
        jwt.decode(asked["id_token_hint"], self.key, algorithms=["RS256"])
        self._sessions.pop(_session(seen), None)
        return Reply(302, headers={"Location": asked["post_logout_redirect_uri"]})

    def _token(self, seen: Seen, form: dict[str, str]) -> Reply:
        basic = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".replace(" ", "+").encode()).decode()
        plain = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        if seen.headers.get("Authorization") not in (f"Basic {basic}", f"Basic {plain}"):
            return _json({"error": "invalid_client"}, 401)
        asked, person = self._codes.pop(form.get("code", ""), (None, {}))  # a code works once
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or challenge != asked["code_challenge"] or form["redirect_uri"] != asked["redirect_uri"]:
            return _json({"error": "invalid_grant"}, 400)
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": asked["nonce"]}
        claims |= person
        token = self.forge(claims) or self.sign(claims)
        return _json({"access_token": secrets.token_urlsafe(16), "token_type": "Bearer", "id_token": token})


def unsigned(claims: Claims) -> str:
    """Return an ID token with `alg: none`."""
    parts = (base64.urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=") for one in ({"alg": "none"}, claims))
    return b".".join([*parts, b""]).decode()


def _session(seen: Seen) -> str:
    morsel = SimpleCookie(seen.headers.get("Cookie", "")).get(SESSION)
    return morsel.value if morsel else ""


@lru_cache  # a new key takes a tenth of a second
def _key() -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": "1", "use": "sig"})


def _json(document: Claims, status: int = 200) -> Reply:
    return Reply(status, json.dumps(document).encode(), {"Content-Type": "application/json"})
