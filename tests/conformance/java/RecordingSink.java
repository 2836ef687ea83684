import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.Collections;
import java.util.Date;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;
import org.apache.kafka.connect.transforms.Transformation;

/** Writes each record it is given to a topic, as JSON; written for Janino, which knows no generics. */
public class RecordingSink extends SinkConnector {
    private Map properties;

    public void start(Map given) {
        properties = given;
    }

    public Class taskClass() {
        return Recorder.class;
    }

    public List taskConfigs(int count) {
        List configs = new ArrayList();
        for (int i = 0; i < count; i++) {
            configs.add(properties);
        }
        return configs;
    }

    public void stop() {
    }

    public ConfigDef config() {
        return new ConfigDef();
    }

    public String version() {
        return "1";
    }

    /** Throws while something is away: for some time after the first call that asks. */
    private static void check(Map properties, String prefix) {
        Object awayMs = properties.get(prefix + "away.ms");
        if (awayMs == null) {
            return;
        }
        File marker = new File((String) properties.get(prefix + "marker"));
        try {
            marker.createNewFile();
        } catch (IOException error) {
            throw new RuntimeException(error);
        }
        if (System.currentTimeMillis() - marker.lastModified() < Long.parseLong((String) awayMs)) {
            throw new RetriableException("away");
        }
    }

    /** A transform that fails with a retriable exception while something is away. */
    public static class Away implements Transformation {
        private Map properties;

        public void configure(Map given) {
            properties = given;
        }

        public ConnectRecord apply(ConnectRecord record) {
            check(properties, "");
            return record;
        }

        public ConfigDef config() {
            return new ConfigDef();
        }

        public String version() {
            return "1";
        }

        public void close() {
        }
    }

    public static class Recorder extends SinkTask {
        private Map properties;
        private static final int DEEPEST = 50;
        private KafkaProducer producer;
        private JsonConverter converter;
        private String connector;
        private String topic;

        public void start(Map given) {
            properties = given;
            connector = (String) properties.get("name");
            topic = (String) properties.get("recorder.topic");
            Map settings = new HashMap();
            settings.put("bootstrap.servers", properties.get("recorder.bootstrap.servers"));
            producer = new KafkaProducer(settings, new ByteArraySerializer(), new ByteArraySerializer());
            converter = new JsonConverter();
            converter.configure(Collections.singletonMap("schemas.enable", "true"), false);
        }

        public void put(Collection records) {
            if (records.isEmpty()) {
                return;
            }
            try {
                check(properties, "recorder.");
            } catch (RetriableException error) {
                context.timeout(500);
                throw error;
            }
            for (Iterator each = records.iterator(); each.hasNext();) {
                byte[] line = line((SinkRecord) each.next()).getBytes(StandardCharsets.UTF_8);
                producer.send(new ProducerRecord(topic, connector.getBytes(StandardCharsets.UTF_8), line));
            }
            producer.flush();
        }

        public void stop() {
            producer.close();
        }

        public String version() {
            return "1";
        }

        private String line(SinkRecord record) {
            StringBuilder headers = new StringBuilder();
            for (Iterator each = record.headers().iterator(); each.hasNext();) {
                Header header = (Header) each.next();
                headers.append(headers.length() == 0 ? "" : ",").append("[").append(text(header.key().getBytes(StandardCharsets.UTF_8)));
                headers.append(",").append(data(header.schema(), header.value())).append("]");
            }
            return "{\"topic\":" + text(record.topic().getBytes(StandardCharsets.UTF_8))
                + ",\"partition\":" + record.kafkaPartition()
                + ",\"offset\":" + record.originalKafkaOffset()
                + ",\"timestamp\":" + record.timestamp()
                + ",\"timestamp_type\":\"" + record.timestampType().name() + "\""
                + ",\"key\":" + data(record.keySchema(), record.key())
                + ",\"value\":" + data(record.valueSchema(), record.value())
                + ",\"headers\":[" + headers + "]}";
        }

        private String data(Schema schema, Object value) {
            try {
                return text(converter.fromConnectData("", schema, value));
            } catch (RuntimeException error) {
                return text(("not JSON: " + plain(value, 0)).getBytes(StandardCharsets.UTF_8));
            }
        }

        /** What no converter can write: times as milliseconds, members sorted, no more than so many levels. */
        private static String plain(Object value, int depth) {
            if (depth > DEEPEST) {
                return "...";
            }
            if (value instanceof Date) {
                return "@" + ((Date) value).getTime();
            }
            if (value instanceof Struct) {
                Map members = new HashMap();
                for (Iterator each = ((Struct) value).schema().fields().iterator(); each.hasNext();) {
                    Field field = (Field) each.next();
                    members.put(field.name(), ((Struct) value).get(field));
                }
                return plain(members, depth);
            }
            if (value instanceof Map) {
                TreeMap members = new TreeMap();
                for (Iterator each = ((Map) value).entrySet().iterator(); each.hasNext();) {
                    Map.Entry member = (Map.Entry) each.next();
                    members.put(plain(member.getKey(), depth + 1), plain(member.getValue(), depth + 1));
                }
                return members.toString();
            }
            if (value instanceof Collection) {
                List items = new ArrayList();
                for (Iterator each = ((Collection) value).iterator(); each.hasNext();) {
                    items.add(plain(each.next(), depth + 1));
                }
                return items.toString();
            }
            return value instanceof byte[] ? text((byte[]) value) : String.valueOf(value);
        }

        private static String text(byte[] bytes) {
            return bytes == null ? "null" : "\"" + Base64.getEncoder().encodeToString(bytes) + "\"";
        }
    }
}
