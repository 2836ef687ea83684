from django.db import migrations, models

from dlqadmin.deadletters.schema_changes import AddIndexQuietly


class Migration(migrations.Migration):

    atomic = False  # for the index, which is made while rows are written

    dependencies = [
        ('deadletters', '0004_text'),
    ]

    operations = [
        AddIndexQuietly(
            model_name='deadletter',
            index=models.Index(condition=models.Q(('trace__isnull', False)), fields=['trace'], name='dead_letter_trace'),
        ),
    ]
