"""`manage.py ensure_demo_user`: create the roles and a demo operator who may read payloads."""

import secrets
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from dlqadmin.audit import roles
from dlqadmin.audit.permissions import OPERATE, READ_PAYLOADS

NAME = "demo"


class Command(BaseCommand):
    """Create missing roles and the user. Repeating it changes nothing."""

    help = "Create missing groups and the user `demo`; print its password."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--production", action="store_true", help="allow it although DLQADMIN_ENVIRONMENT is not LOCAL"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.LOCAL and not options["production"]:
            raise CommandError("A demo user is for local use. Add --production to create one here anyway.")
        password = self._password()
        with transaction.atomic():
            roles.create_missing()
            user, created = User.objects.get_or_create(username=NAME)
            if created or not user.check_password(password):
                user.set_password(password)
                user.save()
            user.groups.add(*Group.objects.filter(name__in=(OPERATE.scope, READ_PAYLOADS.scope)))
        self.stdout.write(f"Sign in as {NAME} with the password {password}")

    def _password(self) -> str:
        """Return the password in .local, and create it if it is missing.

        Only the file's owner can read it.
        """
        path = settings.LOCAL_DIR / "demo-password"
        if path.exists():
            return str(path.read_text().strip())
        path.parent.mkdir(exist_ok=True)
        path.touch(mode=0o600)
        password = secrets.token_urlsafe(12)
        path.write_text(password + "\n")
        return password
