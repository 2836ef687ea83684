import type { ReactNode } from "react";
import { useTestCluster, type Certificate, type Cluster } from "../../api/clusters";
import { useSession } from "../../api/session";
import { dateMinute, span } from "../../lib/format";
import { useNow, useZone } from "../../lib/zone";
import { Button } from "../../ui/controls";
import { Chip, Facts, Panel, Strip } from "../../ui/Panel";
import styles from "./Clusters.module.css";
import { ConnectionTestResult } from "./ConnectionTestResult";

const PROTOCOLS: Record<string, string> = {
  PLAINTEXT: "no encryption, no authentication",
  SSL: "TLS",
  SASL_PLAINTEXT: "authentication without encryption",
  SASL_SSL: "TLS with authentication",
};
const EXPIRY_WARNING_MS = 30 * 86_400_000;

/** A cluster's connection settings, with a button that tests the connection. */
export function ClusterPanel({ cluster }: { cluster: Cluster }) {
  const { data: session } = useSession();
  const test = useTestCluster();
  const barred = session?.role === "operator" ? undefined : "Needs the role operator";
  return (
    <Panel
      label={cluster.name}
      title={
        <>
          <h2>{cluster.name}</h2>
          {cluster.environment && <Chip>{cluster.environment}</Chip>}
          {cluster.own ? (
            <Chip tone={cluster.is_read_only ? "warn" : "plain"}>
              {cluster.is_read_only ? "read-only" : "writes allowed"}
            </Chip>
          ) : (
            <Chip>replays may write here</Chip>
          )}
        </>
      }
      aside={
        <Button barred={barred} busy={test.isPending} onClick={() => test.mutate(cluster.name)}>
          {test.isPending ? "Connecting…" : "Test connection"}
        </Button>
      }
    >
      {cluster.trouble && (
        <div className={styles.strip}>
          <Strip tone="failed">{cluster.trouble}</Strip>
        </div>
      )}
      <div className={styles.facts}>
        <Facts rows={connectionFacts(cluster)} />
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

function connectionFacts({
  bootstrap_servers,
  security_protocol,
  sasl,
  tls,
  principal,
}: Cluster): [ReactNode, ReactNode][] {
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
