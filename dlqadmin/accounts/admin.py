"""API tokens and identities of OpenID providers in Django's admin."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from dlqadmin.accounts import tokens
from dlqadmin.accounts.models import ApiToken, ProviderIdentity
from dlqadmin.rest.read_only_admin import ReadOnlyAdmin


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    """A list of API tokens. Owners create tokens on their profile; here a superuser revokes them."""

    list_display = ("name", "owner", "scopes", "created_at", "expires_at", "last_used_at", "end")
    list_filter = ("end",)
    list_select_related = ("owner",)
    search_fields = ("name", "owner__username")
    exclude = ("digest", "password_digest")
    actions = ("revoke",)

    @admin.action(description="Revoke the selected API tokens", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        """Revoke each selected token permanently."""
        for token in queryset.select_related("owner"):
            tokens.revoke(token, request.user, timezone.now())  # type: ignore[arg-type]  # a superuser is signed in

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Return whether the user is a superuser."""
        return bool(request.user.is_active and request.user.is_superuser)


@admin.register(ProviderIdentity)
class ProviderIdentityAdmin(ReadOnlyAdmin):
    """A list of the identities of OpenID providers, with their accounts."""

    list_display = ("user", "provider", "subject", "issuer", "created_at", "last_sign_in_at")
    list_filter = ("provider",)
    list_select_related = ("user",)
    search_fields = ("user__username", "subject")
