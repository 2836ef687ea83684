package interop;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

/** A sink that stores earthquakes, and reports the records that the database refuses (KIP-610). */
public final class StoreSink extends SinkConnector {
    private Map<String, String> options;

    @Override
    public void start(Map<String, String> given) {
        options = given;
    }

    @Override
    public Class<? extends Task> taskClass() {
        return StoreTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int count) {
        return List.of(options);
    }

    @Override
    public void stop() {}

    @Override
    public ConfigDef config() {
        return new ConfigDef();
    }

    @Override
    public String version() {
        return "1";
    }

    /** The task of the sink. */
    public static final class StoreTask extends SinkTask {
        private final EarthquakeStore store = new EarthquakeStore();

        @Override
        public void start(Map<String, String> given) {}

        @Override
        public void put(Collection<SinkRecord> records) {
            for (SinkRecord record : records) {
                try {
                    store.store((Map<?, ?>) record.value());
                } catch (Exception error) {
                    context.errantRecordReporter().report(record, error);
                }
            }
        }

        @Override
        public void stop() {}

        @Override
        public String version() {
            return "1";
        }
    }
}
