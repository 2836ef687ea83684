"""Drop the table of plain tokens, and all that Django kept about its app."""

from django.db import migrations
from django.db.migrations.recorder import MigrationRecorder

TABLE = "authtoken_token"


def drop(apps, schema_editor):
    """Drop it: as long as it is there, a copy of the database holds working secrets."""
    connection = schema_editor.connection
    if TABLE in connection.introspection.table_names():
        schema_editor.execute(f"DROP TABLE {TABLE}")
    apps.get_model("contenttypes", "ContentType").objects.using(connection.alias).filter(app_label="authtoken").delete()
    MigrationRecorder(connection).migration_qs.filter(app="authtoken").delete()


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_move_tokens"),
        ("auth", "0012_alter_user_first_name_max_length"),  # for the permissions that go with a content type
        ("contenttypes", "0002_remove_content_type_name"),
    ]
    operations = [migrations.RunPython(drop, migrations.RunPython.noop)]
