"""The Django app of people."""

from django.apps import AppConfig


class PeopleConfig(AppConfig):
    name = "dlqadmin.people"
    label = "people"
    verbose_name = "People"
