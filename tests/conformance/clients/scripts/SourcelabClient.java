// The client org.sourcelab:kafka-connect-client: `java SourcelabClient.java URL FOLDER`.
import com.fasterxml.jackson.annotation.JsonAutoDetect.Visibility;
import com.fasterxml.jackson.annotation.PropertyAccessor;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import org.sourcelab.kafka.connect.apiclient.Configuration;
import org.sourcelab.kafka.connect.apiclient.KafkaConnectClient;
import org.sourcelab.kafka.connect.apiclient.request.dto.ConnectorPluginConfigDefinition;
import org.sourcelab.kafka.connect.apiclient.request.dto.ConnectorStatus;
import org.sourcelab.kafka.connect.apiclient.request.dto.NewConnectorDefinition;

public class SourcelabClient {
    private static final Map<String, Object> RESULTS = new LinkedHashMap<>();

    public static void main(String[] arguments) throws Exception {
        KafkaConnectClient client = new KafkaConnectClient(new Configuration(arguments[0]));
        String text = "org.apache.kafka.connect.storage.StringConverter";
        String plugin = "org.apache.kafka.connect.file.FileStreamSinkConnector";
        Map<String, String> config = new LinkedHashMap<>(Map.of(
            "name", "sink", "connector.class", plugin, "tasks.max", "1", "topics", "orders",
            "file", arguments[1] + "/client-out", "key.converter", text, "value.converter", text));

        call("cluster", client::getConnectServerVersion);
        call("empty", client::getConnectors);
        call("missing", () -> client.getConnector("missing"));
        call("create", () -> client.addConnector(new NewConnectorDefinition("sink", config)));
        until(client, "RUNNING");
        call("list", client::getConnectors);
        call("info", () -> client.getConnector("sink"));
        call("config", () -> client.getConnectorConfig("sink"));
        call("status", () -> client.getConnectorStatus("sink"));
        call("expanded-status", () -> client.getConnectorsWithExpandedStatus().getStatusForConnector("sink"));
        call("expanded-info", () -> client.getConnectorsWithExpandedInfo().getDefinitionForConnector("sink"));
        call("tasks", () -> client.getConnectorTasks("sink"));
        call("task", () -> client.getConnectorTaskStatus("sink", 0));
        call("restart", () -> client.restartConnector("sink"));
        until(client, "RUNNING");
        call("restart-task", () -> client.restartConnectorTask("sink", 0));
        until(client, "RUNNING");
        config.put("errors.tolerance", "all");
        call("update", () -> client.updateConnectorConfig("sink", config));
        until(client, "RUNNING");
        call("pause", () -> client.pauseConnector("sink"));
        until(client, "PAUSED");
        call("resume", () -> client.resumeConnector("sink"));
        until(client, "RUNNING");
        call("reset-topics", () -> client.resetConnectorTopics("sink"));
        call("plugins", client::getConnectorPlugins);
        call("validate", () -> client.validateConnectorPluginConfig(
            ConnectorPluginConfigDefinition.newBuilder().withName("FileStreamSinkConnector").withConfig(config).build()));
        call("delete", () -> client.deleteConnector("sink"));

        // Some getters of the client's classes take what they do not have for an error, so fields are written.
        ObjectMapper mapper = new ObjectMapper()
            .setVisibility(PropertyAccessor.ALL, Visibility.NONE)
            .setVisibility(PropertyAccessor.FIELD, Visibility.ANY);
        System.out.println(mapper.writeValueAsString(RESULTS));
    }

    /** Do the work, again while a worker rebalances. A call that fails has its error's class as the result. */
    private static void call(String name, Callable<?> work) throws Exception {
        long deadline = System.currentTimeMillis() + 10_000;
        while (true) {
            try {
                RESULTS.put(name, work.call());
                return;
            } catch (Exception error) {
                boolean isRebalance = error.getClass().getSimpleName().startsWith("Concurrent");
                if (!isRebalance || System.currentTimeMillis() > deadline) {
                    RESULTS.put(name, Map.of("error", error.getClass().getSimpleName()));
                    return;
                }
                Thread.sleep(200);
            }
        }
    }

    private static void until(KafkaConnectClient client, String state) throws Exception {
        long deadline = System.currentTimeMillis() + 60_000;
        while (System.currentTimeMillis() < deadline) {
            try {
                ConnectorStatus status = client.getConnectorStatus("sink");
                boolean tasks = status.getTasks().size() == 1
                    && status.getTasks().stream().allMatch(task -> state.equals(task.getState()));
                if (state.equals(status.getConnector().get("state")) && tasks) {
                    return;
                }
            } catch (RuntimeException error) {
                // The status of a new connector is missing for a moment.
            }
            Thread.sleep(100);
        }
        throw new IllegalStateException("not " + state);
    }
}
