import type { ReactNode } from "react";
import { useTestCluster, type Certificate, type Cluster } from "../../api/clusters";
import { useMayNotAdminister, useSession } from "../../api/session";
import { dateMinute, span, type Zone } from "../../lib/format";
import { useNow, useZone } from "../../lib/zone";
import { ClusterName } from "../clusters/ClusterMark";
import { Button } from "../../ui/controls";
import { Chip, Facts, Panel, Strip } from "../../ui/Panel";
import type { ClusterQuestion } from "./ClusterDialog";
import styles from "./Clusters.module.css";
import { ConnectionTestResult } from "./ConnectionTestResult";

const PROTOCOLS: Record<string, string> = {
  PLAINTEXT: "no encryption, no authentication",
  SSL: "TLS",
  SASL_PLAINTEXT: "authentication without encryption",
  SASL_SSL: "TLS with authentication",
};
const EXPIRY_WARNING_MS = 30 * 86_400_000;

/** A cluster's connection settings, with buttons that test and change them. */
export function ClusterPanel({
  cluster,
  isMarked,
  onAsk,
}: {
  cluster: Cluster;
  /** Whether there are several clusters, so that their colours tell them apart. */
  isMarked: boolean;
  onAsk: (question: ClusterQuestion) => void;
}) {
  const { data: session } = useSession();
  const unauthorised = useMayNotAdminister();
  const { zone } = useZone();
  const test = useTestCluster();
  const barred = session?.role === "operator" ? undefined : "Needs the role operator";
  const ask = (act: ClusterQuestion["act"]) => () => onAsk({ cluster, act });
  return (
    <Panel
      label={cluster.name}
      title={
        <>
          {isMarked ? (
            <h2>
              <ClusterName cluster={cluster} />
            </h2>
          ) : (
            <>
              <h2>{cluster.name}</h2>
              {cluster.environment && <Chip>{cluster.environment}</Chip>}
            </>
          )}
          {!cluster.is_enabled && <Chip tone="warn">Disabled</Chip>}
          {cluster.is_read_only && <Chip tone="warn">Read-only</Chip>}
          {cluster.own && !cluster.is_read_only && <Chip>Writes allowed</Chip>}
          {!cluster.is_indexed && (
            <Chip>{cluster.is_read_only ? "Not indexed" : "Not indexed, replays may write here"}</Chip>
          )}
          {cluster.is_fixed && !cluster.own && <Chip>Set by OTHER_CLUSTERS</Chip>}
        </>
      }
      aside={
        <>
          {!cluster.is_fixed && (
            <>
              <Button barred={unauthorised} onClick={ask("remove")}>
                Remove…
              </Button>
              <Button barred={unauthorised} onClick={ask("toggle")}>
                {cluster.is_enabled ? "Disable…" : "Enable…"}
              </Button>
              <Button barred={unauthorised} onClick={ask("edit")}>
                Edit…
              </Button>
            </>
          )}
          <Button barred={barred} busy={test.isPending} onClick={() => test.mutate({ name: cluster.name })}>
            {test.isPending ? "Connecting…" : "Test connection"}
          </Button>
        </>
      }
    >
      {cluster.trouble && (
        <div className={styles.strip}>
          <Strip tone="failed">{cluster.trouble}</Strip>
        </div>
      )}
      <div className={styles.facts}>
        <Facts rows={connectionFacts(cluster, zone)} />
      </div>
      {test.error && (
        <div className={styles.strip}>
          <Strip tone="failed">{test.error.message}</Strip>
        </div>
      )}
      {test.data && <ConnectionTestResult result={test.data} isStale={test.isPending} />}
    </Panel>
  );
}

function connectionFacts(cluster: Cluster, zone: Zone): [ReactNode, ReactNode][] {
  const { bootstrap_servers, security_protocol, sasl, tls, principal, secret, dead_letter_topics, by, at } = cluster;
  return [
    [
      "Bootstrap servers",
      <span key="b" className="mono">
        {bootstrap_servers.join(", ")}
      </span>,
    ],
    [
      "Protocol",
      <span key="p">
        <span className="mono">{security_protocol}</span> <span className="t3">{PROTOCOLS[security_protocol]}</span>
      </span>,
    ],
    ...(sasl
      ? [
          [
            "Authentication",
            <span key="s">
              <span className="mono">{sasl.mechanism}</span>
              {sasl.username !== null && (
                <>
                  {" "}
                  as <b>{sasl.username}</b>
                </>
              )}
              {secret && (
                <>
                  , password <span className="mono">{secret}</span> of KAFKA_CLUSTER_SECRETS
                </>
              )}
            </span>,
          ] as [ReactNode, ReactNode],
        ]
      : []),
    ...(tls
      ? ([
          [
            "Trusted CA",
            <span key="t">
              {tls.ca ? <span className="mono">{tls.ca}</span> : "the authorities that the system trusts"}
              {!tls.checks_host_name && <b className="warn"> ! host names are not checked</b>}
            </span>,
          ],
          [
            "Client certificate",
            tls.certificate ? (
              <ClientCertificate key="c" certificate={tls.certificate} />
            ) : (
              <span key="n" className="t3">
                no certificate
              </span>
            ),
          ],
        ] as [ReactNode, ReactNode][])
      : []),
    [
      "Principal",
      <span key="k" className="mono">
        {principal}
      </span>,
    ],
    ...(cluster.own || dead_letter_topics.length === 0
      ? []
      : ([
          [
            "Indexed topics",
            <span key="d" className="mono">
              {dead_letter_topics.join(", ")}
            </span>,
          ],
        ] as [ReactNode, ReactNode][])),
    ...(by && at ? ([["Changed", `by ${by}, ${dateMinute(at, zone)}`]] as [ReactNode, ReactNode][]) : []),
  ];
}

function ClientCertificate({ certificate: { subject, issuer, expires } }: { certificate: Certificate }) {
  const { zone } = useZone();
  const left = Date.parse(expires) - useNow(60_000);
  return (
    <>
      <span className="mono">{subject}</span> <span className="t3">by {issuer},</span>{" "}
      <span className={left < 0 ? "failed b" : left < EXPIRY_WARNING_MS ? "warn b" : "t2"}>
        {left < 0 ? "expired" : "until"} {dateMinute(expires, zone)}
        {left > 0 && left < EXPIRY_WARNING_MS && `, in ${span(left)}`}
      </span>
    </>
  );
}
