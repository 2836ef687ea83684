package interop;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.sql.SQLException;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.DefaultProductionExceptionHandler;
import org.apache.kafka.streams.errors.ErrorHandlerContext;
import org.apache.kafka.streams.errors.LogAndContinueExceptionHandler;
import org.apache.kafka.streams.errors.LogAndContinueProcessingExceptionHandler;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Produced;

/** A Streams application with the dead letter queue of KIP-1034, for all three of its error handlers. */
public final class StreamsWriter {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) {
        EarthquakeStore store = new EarthquakeStore();
        Serde<Map<String, Object>> serde = Serdes.serdeFrom(StreamsWriter::title, StreamsWriter::feature);
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(System.getProperty("topic"), Consumed.with(Serdes.String(), serde))
            .peek((key, feature) -> {
                try {
                    store.store(feature);
                } catch (SQLException error) {
                    throw new IllegalStateException("The earthquake was not stored", error);
                }
            })
            .mapValues(StreamsWriter::properties)
            .to(System.getProperty("topic") + "-titles", Produced.with(Serdes.String(), serde));
        Properties options = new Properties();
        options.putAll(Map.of(
            "application.id", System.getProperty("group"),
            "bootstrap.servers", System.getProperty("bootstrap"),
            "state.dir", System.getProperty("java.io.tmpdir"),
            "processing.guarantee", System.getProperty("guarantee", "at_least_once"),
            "commit.interval.ms", "200",
            "errors.dead.letter.queue.topic.name", System.getProperty("dead.letters"),
            "deserialization.exception.handler", LogAndContinueExceptionHandler.class,
            "processing.exception.handler", LogAndContinueProcessingExceptionHandler.class,
            "production.exception.handler", ContinueProducing.class));
        options.put("auto.offset.reset", "earliest");
        KafkaStreams streams = new KafkaStreams(builder.build(), options);
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> properties(Map<String, Object> feature) {
        return (Map<String, Object>) feature.get("properties");
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> feature(String topic, byte[] value) {
        try {
            return JSON.readValue(value, Map.class);
        } catch (IOException error) {
            throw new SerializationException("The value is not a feature", error);
        }
    }

    /** Returns the title of an earthquake. Explosions have none, so that production fails for them. */
    private static byte[] title(String topic, Map<String, Object> properties) {
        if (!"earthquake".equals(properties.get("type"))) {
            throw new SerializationException("No title for the type " + properties.get("type"));
        }
        return ((String) properties.get("title")).getBytes();
    }

    /** Kafka's own handler writes the dead letter too, but then stops the application. */
    public static final class ContinueProducing extends DefaultProductionExceptionHandler {
        @Override
        public Response handleError(
                ErrorHandlerContext context, ProducerRecord<byte[], byte[]> record, Exception error) {
            return Response.resume(super.handleError(context, record, error).deadLetterQueueRecords());
        }

        @Override
        @SuppressWarnings("rawtypes")
        public Response handleSerializationError(
                ErrorHandlerContext context, ProducerRecord record, Exception error, SerializationExceptionOrigin origin) {
            Response response = super.handleSerializationError(context, record, error, origin);
            return Response.resume(response.deadLetterQueueRecords());
        }
    }
}
