package interop;

import io.confluent.parallelconsumer.ParallelConsumerOptions;
import io.confluent.parallelconsumer.ParallelStreamProcessor;
import io.confluent.parallelconsumer.RecordContext;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A Parallel Consumer. It tries a record again while the function fails, and has no dead letters. So the function
 * writes one of its own after the third attempt, and returns.
 */
public final class ParallelWriter {
    private static final int ATTEMPTS = 3;

    public static void main(String[] arguments) {
        String bootstrap = System.getProperty("bootstrap");
        String group = System.getProperty("group");
        EarthquakeStore store = new EarthquakeStore();
        var bytes = new ByteArrayDeserializer();
        var consumer = new KafkaConsumer<>(
            Map.<String, Object>of(
                "bootstrap.servers", bootstrap, "group.id", group,
                "auto.offset.reset", "earliest", "enable.auto.commit", false),
            bytes, bytes);
        var serializer = new ByteArraySerializer();
        var producer = new KafkaProducer<>(Map.<String, Object>of("bootstrap.servers", bootstrap), serializer, serializer);
        var options = ParallelConsumerOptions.<byte[], byte[]>builder()
            .consumer(consumer)
            .ordering(ParallelConsumerOptions.ProcessingOrder.KEY)
            .maxConcurrency(8)
            .defaultMessageRetryDelay(Duration.ofMillis(100))
            .commitInterval(Duration.ofMillis(200))
            .build();
        ParallelStreamProcessor<byte[], byte[]> processor = ParallelStreamProcessor.createEosStreamProcessor(options);
        processor.subscribe(List.of(System.getProperty("topic")));
        processor.poll(context -> {
            RecordContext<byte[], byte[]> record = context.getSingleRecord();
            try {
                synchronized (store) {
                    store.store(record.value());
                }
            } catch (Exception error) {
                int attempts = record.getNumberOfFailedAttempts() + 1;
                if (attempts < ATTEMPTS) {
                    throw new IllegalStateException(error);
                }
                producer.send(deadLetter(record.getConsumerRecord(), error, attempts, group));
                producer.flush();
            }
        });
    }

    private static ProducerRecord<byte[], byte[]> deadLetter(
            ConsumerRecord<byte[], byte[]> record, Exception error, int attempts, String group) {
        var letter = new ProducerRecord<>(
            System.getProperty("dead.letters"), null, record.key(), record.value(), record.headers());
        StringWriter trace = new StringWriter();
        error.printStackTrace(new PrintWriter(trace));
        Headers headers = letter.headers();
        add(headers, "dlq.original.topic", record.topic());
        add(headers, "dlq.original.partition", record.partition());
        add(headers, "dlq.original.offset", record.offset());
        add(headers, "dlq.original.timestamp", record.timestamp());
        add(headers, "dlq.consumer.group", group);
        add(headers, "dlq.exception.class", error.getClass().getName());
        add(headers, "dlq.exception.message", error.getMessage());
        add(headers, "dlq.exception.stacktrace", trace);
        add(headers, "dlq.attempts", attempts);
        add(headers, "dlq.failed.at", Instant.now());
        return letter;
    }

    private static void add(Headers headers, String name, Object value) {
        headers.add(name, String.valueOf(value).getBytes(StandardCharsets.UTF_8));
    }
}
