import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("replays", "0009_chunks")]

    operations = [
        migrations.AlterField(
            model_name='bulkfix',
            name='status',
            field=models.CharField(choices=[('previewed', 'Previewed'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled'), ('undoing', 'Undoing'), ('undone', 'Undone')], default='previewed', max_length=10),
        ),
        migrations.CreateModel(
            name='ReplacedDraft',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.BinaryField(null=True)),
                ('value', models.BinaryField(null=True)),
                ('headers', models.BinaryField()),
                ('digest', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField()),
                ('updated_at', models.DateTimeField()),
                ('bulk', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='replays.bulkfix')),
                ('by', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='replaced', to='replays.bulkfix')),
                ('fix', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='before', to='replays.fix')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('by', 'fix'), name='replaced_once_each')],
            },
        ),
    ]
