// The client kafka-connect-client of npm: `node kafka_connect_client.js URL FOLDER`.
const { KafkaConnectClient } = require("kafka-connect-client");

const [url, folder] = process.argv.slice(2);
const { hostname, port } = new URL(url);
const client = new KafkaConnectClient({ protocol: "http", host: hostname, port: Number(port) });
const sink = client.connector("sink");
const text = "org.apache.kafka.connect.storage.StringConverter";
const config = {
  "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
  "tasks.max": "1",
  topics: "orders",
  file: `${folder}/client-out`,
  "key.converter": text,
  "value.converter": text,
};
const results = {};
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// Do the work, again while a worker rebalances. A call that fails has its status as the result.
async function call(name, work) {
  for (const deadline = Date.now() + 10_000; ; await pause(200)) {
    try {
      const { status, data } = await work();
      results[name] = { status, data };
      return data;
    } catch (error) {
      const status = error.response?.status;
      if (status !== 409 || Date.now() > deadline) {
        results[name] = { error: error.name, status, data: status === 404 ? error.response.data : undefined };
        return undefined;
      }
    }
  }
}

async function until(state, tasks = 1) {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await pause(100)) {
    const { data } = await sink.getStatus().catch(() => ({ data: { tasks: [] } }));
    const found = data.tasks.filter((task) => task.state === state);
    if (data.connector?.state === state && found.length === tasks && data.tasks.length === tasks) return;
  }
  throw new Error(`not ${state}`);
}

async function main() {
  await call("cluster", () => client.getCluster());
  await call("empty", () => client.getConnectors());
  await call("missing", () => client.connector("missing").get());
  await call("create", () => client.createConnector("sink", config));
  await until("RUNNING");
  await call("again", () => client.createConnector("sink", { ...config, "tasks.max": "0" }));
  await call("list", () => client.getConnectors());
  await call("expanded", () => client.getConnectors({ expand: ["info"] }));
  await call("info", () => sink.get());
  await call("config", () => sink.getConfig());
  await call("status", () => sink.getStatus());
  await call("tasks", () => sink.getTasks());
  await call("task", () => sink.getTaskStatus(0));
  await call("restart", () => sink.restart({ includeTasks: true }));
  await until("RUNNING");
  await call("restart-task", () => sink.restartTask(0));
  await until("RUNNING");
  await call("update", () => sink.updateConfig({ ...config, "errors.tolerance": "all" }));
  await until("RUNNING");
  await call("pause", () => sink.pause());
  if (!results.pause.error) await until("PAUSED");
  await call("resume", () => sink.resume());
  if (!results.resume.error) await until("RUNNING");
  await call("stop", () => sink.stop());
  if (!results.stop.error) await until("STOPPED", 0);
  const partition = { kafka_topic: "orders", kafka_partition: 0 };
  await call("alter-offsets", () => sink.alterOffsets([{ partition, offset: { kafka_offset: 1 } }]));
  await call("reset-topics", () => sink.resetTopics());
  await call("plugins", () => client.getConnectorPlugins());
  await call("validate", () => client.validateConnectorConfig("FileStreamSink", { ...config, name: "sink" }));
  await call("delete", () => sink.delete());
  console.log(JSON.stringify(results));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
