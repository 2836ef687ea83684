package interop;

import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.annotation.EnableKafkaRetryTopic;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaAdmin;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.retrytopic.TopicSuffixingStrategy;
import org.springframework.retry.annotation.Backoff;
import org.springframework.scheduling.TaskScheduler;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

/** A listener with two retry topics and a dead letter topic, which Spring names: -retry-0, -retry-1 and -dlt. */
@EnableKafkaRetryTopic
public class SpringRetryTopics {
    private final EarthquakeStore store = new EarthquakeStore();

    public static void main(String[] arguments) {
        new AnnotationConfigApplicationContext(SpringRetryTopics.class);
    }

    @RetryableTopic(
        attempts = "3",
        backoff = @Backoff(delay = 200, multiplier = 2),
        topicSuffixingStrategy = TopicSuffixingStrategy.SUFFIX_WITH_INDEX_VALUE)
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
        return factory;
    }

    @Bean
    KafkaTemplate<byte[], byte[]> defaultRetryTopicKafkaTemplate() {
        var bytes = new ByteArraySerializer();
        Map<String, Object> options = Map.of("bootstrap.servers", System.getProperty("bootstrap"));
        return new KafkaTemplate<>(new DefaultKafkaProducerFactory<>(options, bytes, bytes));
    }

    @Bean
    KafkaAdmin kafkaAdmin() {
        return new KafkaAdmin(Map.of("bootstrap.servers", System.getProperty("bootstrap")));
    }

    @Bean
    TaskScheduler retryScheduler() {
        return new ThreadPoolTaskScheduler();
    }
}
