package interop;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.annotation.EnableKafka;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.DeadLetterPublishingRecoverer;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.support.serializer.DelegatingByTypeSerializer;
import org.springframework.kafka.support.serializer.ErrorHandlingDeserializer;
import org.springframework.kafka.support.serializer.JsonDeserializer;
import org.springframework.kafka.support.serializer.JsonSerializer;
import org.springframework.util.backoff.FixedBackOff;

/** A listener whose deserializers fail: for keys that are no event ids, and for values that are not JSON. */
@EnableKafka
public class SpringDeserializers {
    private final EarthquakeStore store = new EarthquakeStore();

    public static void main(String[] arguments) {
        new AnnotationConfigApplicationContext(SpringDeserializers.class);
    }

    @KafkaListener(topics = "${topic}", groupId = "${group}")
    void on(ConsumerRecord<String, Map<String, Object>> record) throws Exception {
        store.store(record.value());
    }

    @Bean
    ConcurrentKafkaListenerContainerFactory<String, Map<String, Object>> kafkaListenerContainerFactory() {
        Map<String, Object> options = Map.of(
            "bootstrap.servers", System.getProperty("bootstrap"), "auto.offset.reset", "earliest");
        var values = new JsonDeserializer<Map<String, Object>>(Map.class);
        var factory = new ConcurrentKafkaListenerContainerFactory<String, Map<String, Object>>();
        factory.setConsumerFactory(new DefaultKafkaConsumerFactory<>(
            options, new ErrorHandlingDeserializer<>(new EventIds()), new ErrorHandlingDeserializer<>(values)));
        factory.setCommonErrorHandler(new DefaultErrorHandler(recoverer(), new FixedBackOff(100, 2)));
        return factory;
    }

    /** Bytes that a deserializer refused are written as they are, and values of the listener as JSON again. */
    private static DeadLetterPublishingRecoverer recoverer() {
        var bytes = new ByteArraySerializer();
        Map<String, Object> options = Map.of("bootstrap.servers", System.getProperty("bootstrap"));
        var keys = new DelegatingByTypeSerializer(Map.of(byte[].class, bytes, String.class, new StringSerializer()));
        var values = new DelegatingByTypeSerializer(
            Map.of(byte[].class, bytes, LinkedHashMap.class, new JsonSerializer<>().noTypeInfo()));
        var template = new KafkaTemplate<>(new DefaultKafkaProducerFactory<>(options, keys, values));
        String topic = System.getProperty("dead.letters");
        return new DeadLetterPublishingRecoverer(template, (record, error) -> new TopicPartition(topic, -1));
    }

    /** Keys are event ids: a network of two letters, then its code. */
    private static final class EventIds implements Deserializer<String> {
        @Override
        public String deserialize(String topic, byte[] key) {
            String id = new String(key);
            if (!id.matches("[a-z]{2}[0-9a-z]+")) {
                throw new SerializationException("The key is not an event id");
            }
            return id;
        }
    }
}
