from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('replays', '0004_counts'),
    ]

    operations = [
        migrations.CreateModel(
            name='GroupSeen',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('group', models.CharField(max_length=249)),
                ('topic', models.CharField(max_length=249)),
                ('partition', models.IntegerField()),
                ('owned_since', models.DateTimeField(null=True)),
                ('committed_then', models.BigIntegerField(null=True)),
                ('seen_at', models.DateTimeField()),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('group', 'topic', 'partition'), name='group_seen_once')],
            },
        ),
    ]
