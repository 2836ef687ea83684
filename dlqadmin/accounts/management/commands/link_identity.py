"""`manage.py link_identity`: let a person at an OpenID provider sign in to an existing account."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError

from dlqadmin.accounts import identities, providers


class Command(BaseCommand):
    """The subject is the claim `sub` of the provider, never a name or an e-mail address."""

    help = "Link an existing account to an identity of an OpenID provider."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", help="the name of the account")
        parser.add_argument("--provider", required=True, help="the provider's name in OIDC_PROVIDERS")
        parser.add_argument("--subject", required=True, help="the person's id at the provider (the claim sub)")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["user"]).first()
        if user is None:
            raise CommandError(f"No user is named {options['user']}.")
        provider = providers.get(options["provider"])
        if provider is None:
            raise CommandError(f"OIDC_PROVIDERS has no provider {options['provider']}.")
        try:
            identities.link(user, provider, options["subject"], "manage.py link_identity")
        except IntegrityError as error:
            raise CommandError("This identity has an account already.") from error
        self.stdout.write(f"{options['subject']} at {provider.name} signs in to {user.get_username()} now.")
