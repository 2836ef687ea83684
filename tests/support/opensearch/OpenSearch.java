import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.opensearch.common.settings.Settings;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.transport.Netty4Plugin;

/** Runs one node of OpenSearch on 127.0.0.1 until it is killed. Arguments: its folder, its port, its transport port. */
public final class OpenSearch extends Node {
    private OpenSearch(Settings settings, Path config) {
        super(InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), config, () -> "node"),
            List.of(Netty4Plugin.class), true);
    }

    public static void main(String[] arguments) throws Exception {
        Settings settings = Settings.builder()
            .put("path.home", arguments[0])
            .put("network.host", "127.0.0.1")
            .put("http.port", arguments[1])
            .put("transport.port", arguments[2])
            .put("discovery.type", "single-node")
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .put("node.processors", 1)
            .build();
        new OpenSearch(settings, Path.of(arguments[0], "config")).start();
        new CountDownLatch(1).await();
    }
}
