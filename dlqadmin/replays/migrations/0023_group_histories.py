from datetime import timedelta

from django.db import migrations, models


def carry_over(apps, _editor):
    """Begin each history at the owner that the earlier version saw."""
    history = apps.get_model('replays', 'GroupHistory')
    rows = apps.get_model('replays', 'GroupSeen').objects.filter(owned_since__isnull=False)
    history.objects.bulk_create(
        [
            history(
                group=row.group,
                topic=row.topic,
                partition=row.partition,
                since=row.owned_since,
                committed_then=row.committed_then,
                trusted_from=row.owned_since - timedelta(seconds=30),
                is_read=True,
                looked_at=row.seen_at,
            )
            for row in rows.iterator()
        ],
        batch_size=1000,
    )


class Migration(migrations.Migration):
    """Replace GroupSeen. Its table stays until the next release, because the last one writes it."""

    dependencies = [
        ('replays', '0022_clusters'),
    ]

    operations = [
        migrations.CreateModel(
            name='GroupHistory',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('cluster', models.CharField(blank=True, db_default='', default='', max_length=64)),
                ('group', models.CharField(max_length=249)),
                ('topic', models.CharField(max_length=249)),
                ('partition', models.IntegerField()),
                ('since', models.DateTimeField()),
                ('committed_then', models.BigIntegerField(null=True)),
                ('trusted_from', models.DateTimeField(null=True)),
                ('previous_look', models.DateTimeField(null=True)),
                ('committed', models.BigIntegerField(null=True)),
                ('is_read', models.BooleanField()),
                ('looked_at', models.DateTimeField()),
            ],
        ),
        migrations.AddConstraint(
            model_name='grouphistory',
            constraint=models.UniqueConstraint(
                fields=('cluster', 'group', 'topic', 'partition'), name='group_history_once'
            ),
        ),
        migrations.RunPython(carry_over, migrations.RunPython.noop, elidable=True),
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel('GroupSeen')]),
    ]
