"""`manage.py create_token`: create an API token for a machine's user."""

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from rest_framework.exceptions import APIException

from dlqadmin.accounts import tokens
from dlqadmin.audit.permissions import SCOPES
from dlqadmin.teams.models import Team


class Command(BaseCommand):
    """Print the token, and nothing else, on standard output."""

    help = "Create an API token of a user and print it. The token is shown only once, because only its hash is stored."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", help="the name of the user who owns the token")
        parser.add_argument("--name", required=True, help="the program that uses the token, such as prometheus")
        parser.add_argument(
            "--role",
            action="append",
            choices=list(SCOPES),
            help="a right that the token grants if its owner has it; may be repeated (default: viewer)",
        )
        parser.add_argument("--team", help="the team to whose topics and connectors the token is limited")
        parser.add_argument("--days", type=int, help="days until it expires (default: API_TOKEN_DAYS)")

    def handle(self, *args: Any, **options: Any) -> None:
        most = settings.API_TOKEN_MAX_DAYS
        days = min(settings.API_TOKEN_DAYS, most) if options["days"] is None else options["days"]
        if not 1 <= days <= most:
            raise CommandError(f"--days is {days}; it must be between 1 and {most} (API_TOKEN_MAX_DAYS).")
        owner = User.objects.filter(username=options["user"], is_active=True).first()
        if owner is None:
            raise CommandError(f"No active user is named {options['user']}.")
        team = Team.objects.filter(name=options["team"]).first()
        if options["team"] and team is None:
            raise CommandError(f"No team is named {options['team']}.")
        scopes = options["role"] or ["viewer"]
        try:
            name, now = options["name"][:100], timezone.now()
            _, secret = tokens.create(owner, "manage.py", name, scopes, days, now, team.pk if team else None)
        except APIException as error:
            raise CommandError(str(error.detail)) from error
        self.stdout.write(secret)
