import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ConnectorKey } from "../lib/connectors";
import { followed } from "../lib/streaming";
import { get, send } from "./client";
import type { ConnectorList } from "./types";

export type ConnectorAct = "pause" | "resume" | "stop" | "restart";

export interface ConnectorRequest extends ConnectorKey {
  act: ConnectorAct;
  task?: number;
  /** Restart only the connector and the tasks that failed. */
  onlyFailed?: boolean;
  reason: string;
}

export function useConnectors() {
  return useQuery({
    queryKey: ["connectors"],
    queryFn: ({ signal }) => get<ConnectorList>("connectors", undefined, signal),
    ...followed(5_000),
  });
}

/** Ask a cluster to change a connector, or to restart one `task`. */
export function useConnectorAct() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ act, task, onlyFailed, reason, ...key }: ConnectorRequest) =>
      send<unknown>("POST", connectorPath(key, task === undefined ? `/${act}` : `/tasks/${task}/${act}`), {
        reason,
        ...(onlyFailed && { only_failed: true }),
      }),
    onSuccess: () =>
      Promise.all(["connectors", "attention"].map((key) => client.invalidateQueries({ queryKey: [key] }))),
  });
}

/** Return the path of a connector's endpoint. Without a cluster the API finds the only one that has the name. */
export function connectorPath({ name, cluster }: { name: string; cluster?: string | undefined }, rest = ""): string {
  return `connectors/${encodeURIComponent(name)}${rest}${ofCluster(cluster)}`;
}

export function ofCluster(cluster: string | undefined): string {
  return cluster === undefined ? "" : `?cluster=${encodeURIComponent(cluster)}`;
}
