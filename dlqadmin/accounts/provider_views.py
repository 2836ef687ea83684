"""Pages that lead to an OpenID provider and back: sign-in, its end, and sign-out.

They are addresses that the browser opens, not operations of the API. A link starts the sign-in, because the
Content Security Policy lets forms lead to our own pages only.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from django.contrib.auth import login, logout
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from dlqadmin.accounts import identities, openid, providers
from dlqadmin.accounts.openid import PendingSignIn, ProviderUnavailable, SignInRefused
from dlqadmin.accounts.providers import IdentityProvider
from dlqadmin.audit.entries import record

BACKEND = "dlqadmin.accounts.backend.AccountBackend"
# Keys of a session.
PENDING, REFUSAL, SIGNED_IN_WITH, LEAVING = "pending_sign_ins", "sign_in_refusal", "signed_in_with", "leaving"
MAX_PENDING = 5  # sign-ins of one browser that are not finished
PENDING_S = 600
HOME = "/"

log = logging.getLogger(__name__)


@require_GET
@never_cache
def start(request: HttpRequest, name: str) -> HttpResponseRedirect:
    """Lead to the provider, and remember what its response must match."""
    provider = _provider(name)
    back_to = local_path(request.GET.get("next", ""), request)
    try:
        pending, address = openid.begin(provider, request.build_absolute_uri(reverse("sign-in-callback", args=[name])))
    except ProviderUnavailable as error:
        log.warning("sign-in with %s: %s", name, error)
        return _refuse(request, provider, "The provider does not respond. Try again later.", back_to)
    now = time.time()
    known: list[dict[str, Any]] = request.session.get(PENDING, [])
    fresh = [one for one in known if one["at"] > now - PENDING_S]
    row = {"state": pending.state, "nonce": pending.nonce, "verifier": pending.verifier, "provider": name}
    request.session[PENDING] = [*fresh, {**row, "uri": pending.redirect_uri, "next": back_to, "at": now}][-MAX_PENDING:]
    if not request.user.is_authenticated:
        request.session.set_expiry(PENDING_S)  # a stranger leaves no row for longer
    return HttpResponseRedirect(address)


@require_GET
@never_cache
def callback(request: HttpRequest, name: str) -> HttpResponseRedirect:
    """Finish a sign-in: verify the provider's response, and begin a new session."""
    provider = _provider(name)
    row = _take_pending(request, name)
    if row is None:
        return _refuse(request, provider, "This sign-in has expired, or was finished already. Try again.", HOME)
    pending = PendingSignIn(name, row["state"], row["nonce"], row["verifier"], row["uri"])
    try:
        token = openid.finish(provider, pending, {key: request.GET[key] for key in request.GET})
        request.sign_in_provider = name  # type: ignore[attr-defined]  # for the audit trail
        with transaction.atomic():  # the account, its rights and the session exist with their audit entries
            user = identities.account_of(provider, token.claims)
            request.session.flush()  # nothing of an earlier session stays
            login(request, user, backend=BACKEND)
            request.session[SIGNED_IN_WITH] = {"provider": name, "id_token": token.text}
    except SignInRefused as refusal:
        return _refuse(request, provider, str(refusal), row["next"])
    except ProviderUnavailable as error:
        log.warning("sign-in with %s: %s", name, error)
        return _refuse(request, provider, "The provider does not respond. Try again later.", row["next"])
    return HttpResponseRedirect(row["next"])


def sign_out(request: HttpRequest) -> str | None:
    """End the session; return the path that also ends the provider's session, or None.

    The ID token stays in the server's session, and reaches the browser only in the redirect to the provider.
    """
    with_provider = request.session.get(SIGNED_IN_WITH)
    logout(request)
    if not with_provider or with_provider["provider"] not in providers.names():
        return None
    request.session[LEAVING] = with_provider
    request.session.set_expiry(PENDING_S)
    return reverse("sign-out")


@require_GET
@never_cache
def leave(request: HttpRequest) -> HttpResponseRedirect:
    """Lead to the provider's own sign-out, once after ours. Without one, lead to the sign-in page."""
    leaving = request.session.pop(LEAVING, None)
    provider = providers.get(leaving["provider"]) if leaving else None
    home = request.build_absolute_uri(HOME)
    address = openid.logout_address(provider, leaving["id_token"], home) if provider and leaving else None
    return HttpResponseRedirect(address or HOME)


def local_path(given: str, request: HttpRequest) -> str:
    """Return the path to return to; the home page unless it is a path of this dashboard."""
    is_local = given.startswith("/") and url_has_allowed_host_and_scheme(given, None, require_https=request.is_secure())
    return given if is_local else HOME


def _provider(name: str) -> IdentityProvider:
    if (found := providers.get(name)) is None:
        raise Http404("There is no such provider.")
    return found


def _take_pending(request: HttpRequest, name: str) -> dict[str, Any] | None:
    """Remove and return the pending sign-in of the response's state. Each can be finished once."""
    state = request.GET.get("state", "")
    rows: list[dict[str, Any]] = request.session.get(PENDING, [])
    found = next((row for row in rows if state and row["state"] == state and row["provider"] == name), None)
    if found is None:
        return None
    request.session[PENDING] = [row for row in rows if row is not found]
    request.session.save()  # before the provider is asked, so that a second response meanwhile finds nothing
    return found if found["at"] > time.time() - PENDING_S else None


def _refuse(request: HttpRequest, provider: IdentityProvider, why: str, back_to: str) -> HttpResponseRedirect:
    """Record the refusal, and show it on the sign-in page."""
    record("", "provider sign-in refused", "session", provider.name, {"provider": provider.name, "said": why})
    request.session[REFUSAL] = f"{provider.title}: {why}"
    if not request.user.is_authenticated:
        request.session.set_expiry(PENDING_S)
    return HttpResponseRedirect(back_to)
