package interop;

import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.unchecked.Unchecked;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.inject.se.SeContainerInitializer;
import java.util.Map;
import org.eclipse.microprofile.reactive.messaging.Incoming;

/** A channel with the failure strategy dead-letter-queue: one attempt, then a dead letter. */
@ApplicationScoped
public class SmallRyeWriter {
    private final EarthquakeStore store = new EarthquakeStore();

    public static void main(String[] arguments) {
        Map<String, String> channel = Map.of(
            "connector", "smallrye-kafka",
            "bootstrap.servers", System.getProperty("bootstrap"),
            "topic", System.getProperty("topic"),
            "group.id", System.getProperty("group"),
            "auto.offset.reset", "earliest",
            "key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer",
            "value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer",
            "failure-strategy", "dead-letter-queue",
            "dead-letter-queue.topic", System.getProperty("dead.letters"));
        channel.forEach((name, value) -> System.setProperty("mp.messaging.incoming.earthquakes." + name, value));
        SeContainerInitializer.newInstance().addBeanClasses(SmallRyeWriter.class).initialize();
    }

    @Incoming("earthquakes")
    public Uni<Void> on(byte[] feature) {
        return Uni.createFrom().item(feature).invoke(Unchecked.consumer(store::store)).replaceWithVoid();
    }
}
