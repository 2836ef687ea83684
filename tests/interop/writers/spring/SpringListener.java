package interop;

import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
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
import org.springframework.util.backoff.FixedBackOff;

/** A listener with a DefaultErrorHandler: three attempts, then a dead letter. */
@EnableKafka
public class SpringListener {
    private final EarthquakeStore store = new EarthquakeStore();

    public static void main(String[] arguments) {
        new AnnotationConfigApplicationContext(SpringListener.class);
    }

    @KafkaListener(topics = "${topic}", groupId = "${group}")
    void on(ConsumerRecord<byte[], byte[]> record) throws Exception {
        store.store(record.value());
    }

    @Bean
    ConcurrentKafkaListenerContainerFactory<byte[], byte[]> kafkaListenerContainerFactory() {
        var bytes = new ByteArrayDeserializer();
        Map<String, Object> options = Map.of(
            "bootstrap.servers", System.getProperty("bootstrap"), "auto.offset.reset", "earliest");
        var factory = new ConcurrentKafkaListenerContainerFactory<byte[], byte[]>();
        factory.setConsumerFactory(new DefaultKafkaConsumerFactory<>(options, bytes, bytes));
        factory.setCommonErrorHandler(new DefaultErrorHandler(recoverer(), new FixedBackOff(100, 2)));
        return factory;
    }

    private static DeadLetterPublishingRecoverer recoverer() {
        var bytes = new ByteArraySerializer();
        Map<String, Object> options = Map.of("bootstrap.servers", System.getProperty("bootstrap"));
        var template = new KafkaTemplate<>(new DefaultKafkaProducerFactory<>(options, bytes, bytes));
        String topic = System.getProperty("dead.letters");
        return new DeadLetterPublishingRecoverer(template, (record, error) -> new TopicPartition(topic, -1));
    }
}
