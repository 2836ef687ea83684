package interop;

import java.sql.SQLException;
import java.util.Map;
import java.util.function.Consumer;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** A function of Spring Cloud Stream. The Kafka binder tries a record three times, then writes it to its DLQ. */
@Configuration
@EnableAutoConfiguration
public class CloudStreamWriter {
    private static final String BINDING = "spring.cloud.stream.bindings.store-in-0.";
    private static final String KAFKA = "spring.cloud.stream.kafka.";

    public static void main(String[] arguments) {
        SpringApplication application = new SpringApplication(CloudStreamWriter.class);
        application.setWebApplicationType(WebApplicationType.NONE);
        application.setDefaultProperties(Map.ofEntries(
            Map.entry("spring.cloud.function.definition", "store"),
            Map.entry(KAFKA + "binder.brokers", System.getProperty("bootstrap")),
            Map.entry(BINDING + "destination", System.getProperty("topic")),
            Map.entry(BINDING + "group", System.getProperty("group")),
            Map.entry(BINDING + "content-type", "application/octet-stream"),
            Map.entry(BINDING + "consumer.max-attempts", "3"),
            Map.entry(BINDING + "consumer.back-off-initial-interval", "100"),
            Map.entry(KAFKA + "bindings.store-in-0.consumer.start-offset", "earliest"),
            Map.entry(KAFKA + "bindings.store-in-0.consumer.enable-dlq", "true"),
            Map.entry(KAFKA + "bindings.store-in-0.consumer.dlq-name", System.getProperty("dead.letters"))));
        application.run(arguments);
    }

    @Bean
    Consumer<byte[]> store() {
        EarthquakeStore store = new EarthquakeStore();
        return feature -> {
            try {
                store.store(feature);
            } catch (java.io.IOException error) {
                throw new java.io.UncheckedIOException(error);
            } catch (SQLException error) {
                throw new IllegalStateException(error);
            }
        };
    }
}
