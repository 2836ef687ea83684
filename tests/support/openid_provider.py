"""A real OpenID provider on loopback: discovery, codes with PKCE, RS256 ID tokens, keys and sign-out."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.support.http_target import HttpTarget, Reply, Seen

CLIENT_ID, CLIENT_SECRET = "dlqadmin", "the secret of a client"
Claims = dict[str, Any]


class OpenIdProvider:
    """A provider whose person `person` signs in without a form. `forge` may change each ID token."""

    def __init__(self) -> None:
        self.person: Claims = {"sub": "1", "preferred_username": "ada", "groups": []}
        self.forge: Callable[[Claims], str | None] = lambda claims: None
        self.metadata: Claims = {}  # overrides
        self.key = _key()
        self._codes: dict[str, dict[str, str]] = {}
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
            return self._authorize(dict(parse_qsl(urlsplit(seen.path).query)))
        if path == "/token":
            return self._token(seen, {name: one for name, [one] in parse_qs(seen.body.decode()).items()})
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

    def _authorize(self, asked: dict[str, str]) -> Reply:
        """Answer with a code at once, as if the person had a session here."""
        wanted = {"response_type": "code", "client_id": CLIENT_ID, "code_challenge_method": "S256"}
        if not wanted.items() <= asked.items() or not asked.get("nonce") or not asked.get("code_challenge"):
            return Reply(400, b"not the request of a client with PKCE and a nonce")
        code = secrets.token_urlsafe(16)
        self._codes[code] = asked
        back = urlencode({"code": code, "state": asked["state"], "iss": self.issuer})
        return Reply(302, headers={"Location": f"{asked['redirect_uri']}?{back}"})

    def _token(self, seen: Seen, form: dict[str, str]) -> Reply:
        basic = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".replace(" ", "+").encode()).decode()
        plain = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        if seen.headers.get("Authorization") not in (f"Basic {basic}", f"Basic {plain}"):
            return _json({"error": "invalid_client"}, 401)
        asked = self._codes.pop(form.get("code", ""), None)  # a code works once
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or challenge != asked["code_challenge"] or form["redirect_uri"] != asked["redirect_uri"]:
            return _json({"error": "invalid_grant"}, 400)
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": asked["nonce"]}
        claims |= self.person
        token = self.forge(claims) or self.sign(claims)
        return _json({"access_token": secrets.token_urlsafe(16), "token_type": "Bearer", "id_token": token})


def unsigned(claims: Claims) -> str:
    """Return an ID token with `alg: none`."""
    parts = (base64.urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=") for one in ({"alg": "none"}, claims))
    return b".".join([*parts, b""]).decode()


@lru_cache  # a new key takes a tenth of a second
def _key() -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": "1", "use": "sig"})


def _json(document: Claims, status: int = 200) -> Reply:
    return Reply(status, json.dumps(document).encode(), {"Content-Type": "application/json"})
