"""Counts of items kept with them, by state and by second, for replays that are there already."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Count
from django.db.models.functions import TruncSecond

SETTLED = ("passed", "failed_again", "unknown")
KIND = ("replay_id", "state", "reason", "watched", "edited")
BATCH = 500


def count(apps, schema_editor):
    item, kept, second = (apps.get_model("replays", name) for name in ("ReplayItem", "ItemCount", "ReplaySecond"))
    kept.objects.all().delete()
    cells = item.objects.order_by().values(*KIND).annotate(n=Count("pk"))
    kept.objects.bulk_create([kept(**cell) for cell in cells], batch_size=BATCH)
    seconds = {}
    for name, rows, column in (
        ("sent", item.objects.exclude(sent_at=None), "sent_at"),
        ("settled", item.objects.filter(state__in=SETTLED), "state_at"),
    ):
        for replay, at, n in (
            rows.order_by().annotate(at=TruncSecond(column)).values_list("replay_id", "at").annotate(n=Count("pk"))
        ):
            seconds.setdefault((replay, at), {})[name] = n
    second.objects.bulk_create(
        [second(replay_id=replay, at=at, **n) for (replay, at), n in seconds.items()], batch_size=BATCH
    )


class Migration(migrations.Migration):

    dependencies = [
        ('replays', '0002_replay_at_scale'),
    ]

    operations = [
        migrations.CreateModel(
            name='ReplaySecond',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('sent', models.IntegerField(db_default=0, default=0)),
                ('settled', models.IntegerField(db_default=0, default=0)),
                ('replay', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='seconds', to='replays.replay')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('replay', 'at'), name='replay_second_once')],
            },
        ),
        migrations.AddField(
            model_name='chunk',
            name='records',
            field=models.IntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='replay',
            name='accepted',
            field=models.JSONField(default=dict),
        ),
        migrations.AlterField(
            model_name='ledgerentry',
            name='target_topic',
            field=models.CharField(max_length=350),
        ),
        migrations.AlterField(
            model_name='replayitem',
            name='replay',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='items', to='replays.replay'),
        ),
        migrations.AlterField(
            model_name='replayitem',
            name='refailure',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='deadletters.deadletter'),
        ),
        migrations.AddIndex(
            model_name='replayitem',
            index=models.Index(condition=models.Q(('refailure__isnull', False)), fields=['refailure'], name='replay_item_refailure'),
        ),
        migrations.RunPython(count, migrations.RunPython.noop, elidable=True),
    ]
