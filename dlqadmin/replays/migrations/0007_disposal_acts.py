import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('replays', '0005_groups'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='DisposalAct',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(blank=True, choices=[('discarded', 'Discarded'), ('parked', 'Parked'), ('handled', 'Handled')], max_length=10)),
                ('reason', models.TextField()),
                ('progress', models.BigIntegerField(default=0)),
                ('changed', models.IntegerField(default=0)),
                ('kept', models.IntegerField(default=0)),
                ('busy', models.IntegerField(default=0)),
                ('created_at', models.DateTimeField()),
                ('touched_at', models.DateTimeField()),
                ('done_at', models.DateTimeField(blank=True, null=True)),
                ('idempotency_key', models.CharField(blank=True, max_length=100, null=True, unique=True)),
                ('request_digest', models.CharField(blank=True, max_length=64)),
                ('actor', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('selection', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='replays.selection')),
                ('undoes', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='undone_by', to='replays.disposalact')),
            ],
        ),
        migrations.AddField(
            model_name='disposal',
            name='act',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='disposals', to='replays.disposalact'),
        ),
    ]
