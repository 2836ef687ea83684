import { useState, type ReactNode } from "react";
import { useRegistries, useTestRegistry, type Registry } from "../../api/decoded";
import { useMayNotAdminister, useSession } from "../../api/session";
import { dateMinute, took } from "../../lib/format";
import { useZone } from "../../lib/zone";
import { Button } from "../../ui/controls";
import { LoadError } from "../../ui/LoadError";
import { SkeletonRows, Chip, Facts, Glyph, Notice, PageHead, Panel, Strip } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import styles from "./Clusters.module.css";
import { RegistryDialog, type RegistryQuestion } from "./RegistryDialog";
import { SettingsTabs } from "./SettingsTabs";

const AUTHENTICATION: Record<Registry["auth"], string> = {
  none: "none",
  basic: "user and password",
  bearer: "bearer token",
  oauth: "OAuth, client credentials",
};

/** The settings page of schema registries: one for each cluster. */
export function Registries() {
  const { data, error, refetch } = useRegistries();
  const barred = useMayNotAdminister();
  const [question, setQuestion] = useState<RegistryQuestion | null>(null);
  useTitle("Schema registries");
  return (
    <>
      <PageHead
        title="Schema registries"
        note="Records that name a schema are decoded with the registry of their cluster. A cluster has at most one."
      />
      <SettingsTabs />
      {!data && (
        <Panel>
          {error ? (
            <LoadError title="The registries could not be loaded" error={error} onAgain={() => void refetch()} />
          ) : (
            <SkeletonRows rows={6} />
          )}
        </Panel>
      )}
      <div className={styles.list}>
        {data?.clusters.map((cluster) => {
          const registry = data.results.find((one) => one.cluster === cluster);
          return registry ? (
            <RegistryPanel
              key={`${cluster} ${registry.at}`} // a verdict is of the settings that were tested
              registry={registry}
              barred={registry.is_fixed ? "SCHEMA_REGISTRIES sets it" : barred}
              onAsk={setQuestion}
            />
          ) : (
            <Panel key={cluster} label={cluster} title={cluster}>
              <Notice
                title="No registry"
                actions={
                  <Button barred={barred} onClick={() => setQuestion({ cluster, registry: null, remove: false })}>
                    Add registry…
                  </Button>
                }
              >
                Values that name a schema are shown as bytes.
              </Notice>
            </Panel>
          );
        })}
      </div>
      {question && (
        <RegistryDialog question={question} secrets={data?.secrets ?? []} onClose={() => setQuestion(null)} />
      )}
    </>
  );
}

function RegistryPanel({
  registry,
  barred,
  onAsk,
}: {
  registry: Registry;
  barred: string | undefined;
  onAsk: (question: RegistryQuestion) => void;
}) {
  const { data: session } = useSession();
  const { zone } = useZone();
  const test = useTestRegistry();
  const { cluster, auth } = registry;
  return (
    <Panel
      label={cluster}
      title={
        <>
          <h2>{registry.name}</h2>
          <Chip>{cluster}</Chip>
          {registry.is_fixed && <Chip>set by the environment</Chip>}
        </>
      }
      aside={
        <>
          <Button barred={barred} onClick={() => onAsk({ cluster, registry, remove: true })}>
            Remove…
          </Button>
          <Button barred={barred} onClick={() => onAsk({ cluster, registry, remove: false })}>
            Change…
          </Button>
          <Button
            barred={session?.role === "operator" ? undefined : "Needs the role operator"}
            busy={test.isPending}
            onClick={() => test.mutate(cluster)}
          >
            {test.isPending ? "Connecting…" : "Test connection"}
          </Button>
        </>
      }
    >
      {registry.trouble && (
        <div className={styles.strip}>
          <Strip tone="failed">Not used: {registry.trouble}.</Strip>
        </div>
      )}
      <div className={styles.facts}>
        <Facts
          rows={[
            ["URL", <Mono key="u" text={registry.url} />],
            ["Trusted CA", registry.ca_file ? <Mono key="c" text={registry.ca_file} /> : "the usual authorities"],
            [
              "Authentication",
              <span key="a">
                {AUTHENTICATION[auth]}
                {registry.user && (auth === "basic" || auth === "oauth") && (
                  <>
                    {" "}
                    as <b>{registry.user}</b>
                  </>
                )}
                {auth !== "none" && (
                  <>
                    , secret <Mono text={registry.secret} /> of SCHEMA_REGISTRY_SECRETS
                  </>
                )}
              </span>,
            ],
            ...(auth === "oauth"
              ? ([["Token endpoint", <Mono key="t" text={registry.token_url} />]] as [string, ReactNode][])
              : []),
            ...(registry.by && registry.at
              ? ([["Changed", `by ${registry.by}, ${dateMinute(registry.at, zone)}`]] as [string, ReactNode][])
              : []),
          ]}
        />
      </div>
      {test.error && (
        <div className={styles.strip}>
          <Strip tone="failed">{test.error.message}</Strip>
        </div>
      )}
      {test.data && (
        <div className={styles.verdict} role="status" style={{ padding: "0 16px 12px" }}>
          <Glyph tone={test.data.reached ? "passed" : "failed"} large>
            {test.data.reached ? "✓" : "✕"}
          </Glyph>
          <div>
            <b>{test.data.verdict}</b> <span className="s t3">{took(test.data.took_ms)}</span>
          </div>
        </div>
      )}
    </Panel>
  );
}

function Mono({ text }: { text: string }) {
  return <span className="mono">{text}</span>;
}
