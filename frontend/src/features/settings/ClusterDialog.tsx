import { Checkbox, NativeSelect, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { useChangeCluster, useTestCluster, type Cluster, type ClusterBody } from "../../api/clusters";
import { Button } from "../../ui/controls";
import controls from "../../ui/controls.module.css";
import { ConfirmDialog } from "../../ui/Dialog";
import { ConnectionTestResult } from "./ConnectionTestResult";
import styles from "./Clusters.module.css";

/** The cluster that a dialog changes, disables, enables or removes; null adds one. */
export interface ClusterQuestion {
  cluster: Cluster | null;
  act: "edit" | "toggle" | "remove";
}

const EMPTY: Required<ClusterBody> = {
  bootstrap_servers: "",
  security_protocol: "PLAINTEXT",
  sasl_mechanism: "",
  user: "",
  secret: "",
  ca_file: "",
  certificate_file: "",
  key_file: "",
  dead_letter_topics: [],
  is_read_only: false,
  is_enabled: true,
  environment: "",
  colour: "",
};
const PROTOCOLS: Record<string, string> = {
  PLAINTEXT: "PLAINTEXT: no encryption, no authentication",
  SSL: "SSL: TLS",
  SASL_PLAINTEXT: "SASL_PLAINTEXT: authentication without encryption",
  SASL_SSL: "SASL_SSL: TLS with authentication",
};
const MECHANISMS = ["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"];

/** Asks for the settings of a cluster, or whether to disable, enable or remove it. */
export function ClusterDialog({
  question,
  secrets,
  colours,
  onClose,
}: {
  question: ClusterQuestion;
  secrets: readonly string[];
  colours: readonly string[];
  onClose: () => void;
}) {
  if (question.cluster && question.act !== "edit")
    return <StateDialog cluster={question.cluster} act={question.act} onClose={onClose} />;
  return <SettingsDialog cluster={question.cluster} secrets={secrets} colours={colours} onClose={onClose} />;
}

function StateDialog({ cluster, act, onClose }: { cluster: Cluster; act: "toggle" | "remove"; onClose: () => void }) {
  const change = useChangeCluster();
  const { name, is_enabled } = cluster;
  const verb = act === "remove" ? "Remove" : is_enabled ? "Disable" : "Enable";
  const body = act === "remove" ? null : { ...bodyOf(cluster), is_enabled: !is_enabled };
  return (
    <ConfirmDialog
      open
      title={`${verb} ${name}`}
      confirmLabel={verb}
      danger={verb !== "Enable"}
      busy={change.isPending}
      error={change.error?.message ?? null}
      onClose={onClose}
      onConfirm={() => change.mutate({ name, body }, { onSuccess: onClose })}
    >
      {verb === "Remove"
        ? "Its settings are removed. Its indexed dead letters stay, and are found as before. Its content that is only in Kafka, such as neighbours, is not shown any more, and nothing can be replayed to it."
        : verb === "Disable"
          ? "Its indexer stops, and nothing can be replayed to it. Its indexed dead letters stay. Enable it to continue where the indexer stopped."
          : "Its indexer continues where it stopped. Dead letters that Kafka has deleted since are missing."}
    </ConfirmDialog>
  );
}

function SettingsDialog({
  cluster,
  secrets,
  colours,
  onClose,
}: {
  cluster: Cluster | null;
  secrets: readonly string[];
  colours: readonly string[];
  onClose: () => void;
}) {
  const change = useChangeCluster();
  const test = useTestCluster();
  const [name, setName] = useState(cluster?.name ?? "");
  const [body, setBody] = useState<Required<ClusterBody>>(() => (cluster ? bodyOf(cluster) : EMPTY));
  const [topics, setTopics] = useState(() => body.dead_letter_topics.join("\n"));
  const put = (more: Partial<ClusterBody>) => {
    test.reset(); // its result is of other settings
    change.reset();
    setBody({ ...body, ...more });
  };
  const wanted = { ...withoutUnused(body), dead_letter_topics: lines(topics) };
  const missing = name.trim() && body.bootstrap_servers.trim() ? undefined : "Enter a name and the servers first";
  const isSasl = body.security_protocol.startsWith("SASL");
  const isTls = body.security_protocol.endsWith("SSL");
  const text = (field: "bootstrap_servers" | "user" | "ca_file" | "certificate_file" | "key_file", label: string) => (
    <TextInput
      label={label}
      value={body[field]}
      onChange={(event) => put({ [field]: event.currentTarget.value })}
      mt="sm"
      classNames={{ label: controls.label!, input: `${controls.input} mono` }}
    />
  );
  const select = (
    field: "security_protocol" | "sasl_mechanism" | "secret" | "colour",
    label: string,
    data: (string | { value: string; label: string })[],
  ) => (
    <NativeSelect
      label={label}
      value={body[field]}
      data={data}
      onChange={(event) => put({ [field]: event.currentTarget.value })}
      mt="sm"
      classNames={{ label: controls.label!, input: controls.input! }}
    />
  );
  return (
    <ConfirmDialog
      open
      title={cluster ? `Edit ${cluster.name}` : "Add a Kafka cluster"}
      confirmLabel={cluster ? "Save" : "Add cluster"}
      barred={missing}
      busy={change.isPending}
      error={change.error?.message ?? null}
      onClose={onClose}
      onConfirm={() => change.mutate({ name: name.trim(), body: wanted }, { onSuccess: onClose })}
    >
      {!cluster && (
        <TextInput
          label="Name"
          description="Dead letters keep it, so it can't be changed later"
          value={name}
          maxLength={64}
          data-autofocus
          onChange={(event) => {
            test.reset();
            setName(event.currentTarget.value);
          }}
          classNames={{ label: controls.label!, input: `${controls.input} mono` }}
        />
      )}
      {text("bootstrap_servers", "Bootstrap servers, with commas between them")}
      {select(
        "security_protocol",
        "Protocol",
        Object.entries(PROTOCOLS).map(([value, label]) => ({ value, label })),
      )}
      {isSasl && (
        <>
          {select("sasl_mechanism", "Mechanism", ["", ...MECHANISMS])}
          {text("user", "User")}
          {select("secret", "Password, by its name in KAFKA_CLUSTER_SECRETS", ["", ...secrets])}
        </>
      )}
      {isTls && (
        <>
          {text("ca_file", "CA file, if the usual authorities do not know it")}
          {text("certificate_file", "Client certificate file, if the brokers ask for one")}
          {text("key_file", "Key file of the client certificate")}
        </>
      )}
      <Textarea
        label="Dead letter topics to index"
        description="Names and regular expressions, one a line. Without any, replays only write here."
        placeholder={"orders.dlq\n.*-dlt"}
        value={topics}
        rows={3}
        onChange={(event) => {
          put({});
          setTopics(event.currentTarget.value);
        }}
        mt="sm"
        classNames={{ label: controls.label!, input: `${controls.input} mono` }}
        styles={{ input: { height: 66 } }}
      />
      <TextInput
        label="Environment, such as PROD"
        value={body.environment}
        maxLength={40}
        onChange={(event) => put({ environment: event.currentTarget.value })}
        mt="sm"
        classNames={{ label: controls.label!, input: controls.input! }}
      />
      {select("colour", "Colour", [
        { value: "", label: "none" },
        ...colours.map((colour) => ({ value: colour, label: colour })),
      ])}
      <Checkbox
        label="Read-only: no replay writes to this cluster"
        checked={body.is_read_only}
        onChange={(event) => put({ is_read_only: event.currentTarget.checked })}
        mt="md"
        size="xs"
      />
      <div className={styles.trial}>
        <Button barred={missing} busy={test.isPending} onClick={() => test.mutate({ name: name.trim(), body: wanted })}>
          {test.isPending ? "Connecting…" : "Test connection"}
        </Button>
        {test.error && (
          <span className="failed s" role="alert">
            {test.error.message}
          </span>
        )}
      </div>
      {test.data && (
        <div className={styles.trialResult}>
          <ConnectionTestResult result={test.data} isStale={test.isPending} />
        </div>
      )}
    </ConfirmDialog>
  );
}

function bodyOf(cluster: Cluster): Required<ClusterBody> {
  return {
    bootstrap_servers: cluster.bootstrap_servers.join(","),
    security_protocol: cluster.security_protocol as Required<ClusterBody>["security_protocol"],
    sasl_mechanism: (cluster.sasl?.mechanism ?? "") as Required<ClusterBody>["sasl_mechanism"],
    user: cluster.sasl?.username ?? "",
    secret: cluster.secret,
    ca_file: cluster.ca_file,
    certificate_file: cluster.certificate_file,
    key_file: cluster.key_file,
    dead_letter_topics: cluster.dead_letter_topics,
    is_read_only: cluster.is_read_only,
    is_enabled: cluster.is_enabled,
    environment: cluster.environment,
    colour: cluster.colour as Required<ClusterBody>["colour"],
  };
}

/** Return the settings without those of the fields that the protocol hides. */
function withoutUnused(body: Required<ClusterBody>): Required<ClusterBody> {
  const { sasl_mechanism, user, secret, ca_file, certificate_file, key_file } = EMPTY;
  return {
    ...body,
    ...(body.security_protocol.startsWith("SASL") ? {} : { sasl_mechanism, user, secret }),
    ...(body.security_protocol.endsWith("SSL") ? {} : { ca_file, certificate_file, key_file }),
  };
}

function lines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
}
