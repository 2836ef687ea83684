"""OpenID Connect: the authorization code flow with PKCE, and the checks of an ID token.

Source: OpenID Connect Core 1.0, section 3.1; RFC 7636 (PKCE); RFC 9207 (the issuer in the response);
OpenID Connect RP-Initiated Logout 1.0.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import httpx2
from authlib.common.security import generate_token
from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import OAuth2Client
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from dlqadmin.accounts.providers import IdentityProvider, is_protected

TIMEOUT_S = 5.0
LEEWAY_S = 60  # between the clocks of the provider and of this machine
# A provider's public key verifies these. `none` is left out, and so are algorithms with a shared secret.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]
DISCOVERY_PATH = "/.well-known/openid-configuration"


class ProviderUnavailable(Exception):
    """The provider does not respond, or not with what OpenID Connect says."""


class SignInRefused(Exception):
    """The sign-in is refused. The message is one sentence for the user and the audit trail."""


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """A sign-in that has begun: the values which the response and the ID token must match."""

    provider: str
    state: str
    nonce: str
    verifier: str
    redirect_uri: str


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """A verified ID token: its claims, and its text as the hint for a logout."""

    claims: Mapping[str, Any]
    text: str


def begin(provider: IdentityProvider, redirect_uri: str) -> tuple[PendingSignIn, str]:
    """Return a new sign-in, and the provider's address for it. Raises ProviderUnavailable."""
    pending = PendingSignIn(provider.name, generate_token(43), generate_token(43), generate_token(64), redirect_uri)
    with _client(provider) as client:
        address, _ = client.create_authorization_url(
            _endpoint(_discover(client, provider), "authorization_endpoint"),
            state=pending.state,
            nonce=pending.nonce,
            code_verifier=pending.verifier,
            redirect_uri=redirect_uri,
        )
    return pending, address


def finish(provider: IdentityProvider, pending: PendingSignIn, response: Mapping[str, str]) -> VerifiedToken:
    """Exchange the code of a response for an ID token, and verify it.

    Raises SignInRefused or ProviderUnavailable.
    """
    if response.get("iss", provider.issuer) != provider.issuer:
        raise SignInRefused("The response is from another provider.")
    if error := response.get("error"):
        raise SignInRefused(f"The provider refused: {error[:100]}.")
    if not response.get("code"):
        raise SignInRefused("The provider sent no code.")
    with _client(provider) as client:
        metadata = _discover(client, provider)
        answer = client.fetch_token(
            _endpoint(metadata, "token_endpoint"),
            code=response["code"],
            code_verifier=pending.verifier,
            redirect_uri=pending.redirect_uri,
        )
        text = answer.get("id_token")
        if not isinstance(text, str):
            raise SignInRefused("The provider sent no ID token.")
        keys = _json(client, _endpoint(metadata, "jwks_uri"))
    return VerifiedToken(verify(provider, text, keys, pending.nonce, time.time()), text)


def verify(provider: IdentityProvider, text: str, keys: Mapping[str, Any], nonce: str, now: float) -> Mapping[str, Any]:
    """Return the claims of an ID token. Raises SignInRefused unless every check passes."""
    try:
        token = jwt.decode(text, KeySet.import_key_set({"keys": keys.get("keys", [])}), algorithms=ALGORITHMS)
        registry = jwt.JWTClaimsRegistry(
            now=int(now),
            leeway=LEEWAY_S,
            iss={"essential": True, "value": provider.issuer},
            aud={"essential": True, "value": provider.client_id},
            exp={"essential": True},
            iat={"essential": True},
            nonce={"essential": True, "value": nonce},
            sub={"essential": True},
        )
        registry.validate(token.claims)
    except (JoseError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise SignInRefused(f"The ID token is not valid: {_reason(error)}.") from error
    claims: Mapping[str, Any] = token.claims
    if not isinstance(claims["sub"], str) or len(claims["sub"]) > 255:
        raise SignInRefused("The ID token is not valid: its subject is not a text of at most 255 characters.")
    audience = claims["aud"]
    names_party = "azp" in claims or (isinstance(audience, list) and len(audience) > 1)
    if names_party and claims.get("azp") != provider.client_id:
        raise SignInRefused("The ID token is not valid: it was issued to another client.")
    return claims


def logout_address(provider: IdentityProvider, id_token: str, back_to: str) -> str | None:
    """Return the provider's address that ends its own session; None if it has none, or does not respond."""
    try:
        with _client(provider) as client:
            endpoint = _endpoint(_discover(client, provider), "end_session_endpoint")
    except ProviderUnavailable:
        return None
    asked = {"id_token_hint": id_token, "client_id": provider.client_id, "post_logout_redirect_uri": back_to}
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"


@contextmanager
def _client(provider: IdentityProvider) -> Iterator[OAuth2Client]:
    """Yield an HTTP client with the provider's credentials, and translate its errors.

    It follows no redirect, because the credentials go to the token endpoint alone.
    """
    try:
        with OAuth2Client(
            client_id=provider.client_id,
            client_secret=provider.client_secret() or None,
            token_endpoint_auth_method="client_secret_basic" if provider.secret or provider.secret_file else "none",
            scope=" ".join(provider.scopes),
            code_challenge_method="S256",
            timeout=TIMEOUT_S,
            follow_redirects=False,
            trust_env=False,
            verify=ssl.create_default_context(cafile=provider.ca_file) if provider.ca_file else True,
        ) as client:
            yield client
    except OAuthError as error:
        raise SignInRefused(f"The provider refused the code: {str(error.error)[:100]}.") from error
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, OSError) as error:
        # The error's text could hold the address with the code, so only its class is told.
        raise ProviderUnavailable(f"The provider {provider.name} failed: {type(error).__name__}.") from error


def _discover(client: OAuth2Client, provider: IdentityProvider) -> Mapping[str, Any]:
    """Return the provider's metadata. Raises ProviderUnavailable for those of another issuer."""
    metadata = _json(client, provider.issuer.rstrip("/") + DISCOVERY_PATH)
    if metadata.get("issuer") != provider.issuer:
        raise ProviderUnavailable(f"The metadata of the provider {provider.name} name another issuer.")
    return metadata


def _json(client: OAuth2Client, address: str) -> dict[str, Any]:
    found = client.request("GET", address, withhold_token=True).raise_for_status().json()
    if not isinstance(found, dict):
        raise ProviderUnavailable("The provider sent JSON that is not an object.")
    return found


def _endpoint(metadata: Mapping[str, Any], name: str) -> str:
    address = metadata.get(name)
    if not isinstance(address, str) or not is_protected(address):
        raise ProviderUnavailable(f"The provider's {name} is missing, or does not begin with https://.")
    return address


def _reason(error: Exception) -> str:
    """Return an error of the token without any of its content."""
    claim = getattr(error, "claim", None)
    return f"its {claim} is wrong" if claim else "its signature or form is wrong"
