"""Give the right payload reader to those who needed it for their work before it existed: operators and approvers."""

from django.conf import settings
from django.db import migrations

RIGHT, WORKERS = "payload reader", ("operator", "approver")


def give_right(apps, schema_editor):
    """Put the members of the groups operator and approver into the group; viewers stay out."""
    using = schema_editor.connection.alias
    user = apps.get_model(*settings.AUTH_USER_MODEL.split("."))
    people = list(user.objects.using(using).filter(groups__name__in=WORKERS).distinct())
    if not people:
        return
    right, _ = apps.get_model("auth", "Group").objects.using(using).get_or_create(name=RIGHT)
    for person in people:
        person.groups.add(right)


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0003_seal_entries"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [migrations.RunPython(give_right, migrations.RunPython.noop)]
