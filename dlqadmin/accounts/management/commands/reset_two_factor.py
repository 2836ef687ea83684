"""`manage.py reset_two_factor`: switch off the two-factor sign-in of a user who lost the authenticator app."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from dlqadmin.accounts import two_factor


class Command(BaseCommand):
    """The user then signs in with the password alone."""

    help = "Switch off the two-factor sign-in of a user who lost the authenticator app and the recovery codes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", help="the name of the user")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["user"]).first()
        if user is None:
            raise CommandError(f"No user is named {options['user']}.")
        if not two_factor.reset(user, "manage.py reset_two_factor"):
            raise CommandError(f"{options['user']} has no two-factor sign-in.")
        self.stdout.write(f"{options['user']} signs in with the password alone now.")
