package interop;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A member of a share group. It rejects what is not JSON, and releases what the database refuses: the broker delivers
 * it three times. The broker writes both to the group's dead letter topic (KIP-1191), without key, value and headers.
 */
public final class ShareWriter {
    public static void main(String[] arguments) throws Exception {
        String bootstrap = System.getProperty("bootstrap");
        String group = System.getProperty("group");
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            Map<String, String> options = Map.of(
                "share.auto.offset.reset", "earliest",
                "share.delivery.count.limit", "3",
                "errors.deadletterqueue.topic.name", System.getProperty("dead.letters"));
            List<AlterConfigOp> set = options.entrySet().stream()
                .map(option -> new ConfigEntry(option.getKey(), option.getValue()))
                .map(entry -> new AlterConfigOp(entry, AlterConfigOp.OpType.SET))
                .toList();
            ConfigResource of = new ConfigResource(ConfigResource.Type.GROUP, group);
            admin.incrementalAlterConfigs(Map.of(of, set)).all().get();
        }
        EarthquakeStore store = new EarthquakeStore();
        var bytes = new ByteArrayDeserializer();
        Map<String, Object> options = Map.of(
            "bootstrap.servers", bootstrap, "group.id", group, "share.acknowledgement.mode", "explicit");
        try (var consumer = new KafkaShareConsumer<>(options, bytes, bytes)) {
            consumer.subscribe(List.of(System.getProperty("topic")));
            while (true) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    consumer.acknowledge(record, outcome(store, record.value()));
                }
                consumer.commitSync();
            }
        }
    }

    private static AcknowledgeType outcome(EarthquakeStore store, byte[] feature) {
        try {
            store.store(feature);
            return AcknowledgeType.ACCEPT;
        } catch (java.io.IOException error) {
            return AcknowledgeType.REJECT;
        } catch (Exception error) {
            return AcknowledgeType.RELEASE;
        }
    }
}
