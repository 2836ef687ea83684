"""The Django app of teams."""

from django.apps import AppConfig


class TeamsConfig(AppConfig):
    name = "dlqadmin.teams"
    label = "teams"
    verbose_name = "Teams"
