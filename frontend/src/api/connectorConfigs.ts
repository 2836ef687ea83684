import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ConnectorKey } from "../lib/connectors";
import type { Config } from "../lib/properties";
import { get, send } from "./client";
import { connectorPath, ofCluster } from "./connectors";
import type { ConfigValidation, ConnectorConfiguration, ConnectorPluginList } from "./schema";

export type { ConfigValidation, ConnectorConfiguration, ConnectorOption, ConnectorPlugin } from "./schema";

const CHANGED = "configuration_changed";

/** A connector of an address. Older addresses name no cluster. */
export interface AddressedConnector {
  cluster: string | undefined;
  name: string;
}

export function useConnectorPlugins(cluster: string | undefined) {
  return useQuery({
    queryKey: ["connector-plugins", cluster],
    queryFn: ({ signal }) => get<ConnectorPluginList>(`connector-plugins${ofCluster(cluster)}`, undefined, signal),
    staleTime: 60_000,
  });
}

/** Return the configuration as the cluster has it; it is read once, because a person edits it. */
export function useConnectorConfig(key: AddressedConnector | undefined) {
  return useQuery({
    queryKey: ["connector-config", key],
    enabled: key !== undefined,
    queryFn: ({ signal }) => get<ConnectorConfiguration>(connectorPath(key!, "/config"), undefined, signal),
    staleTime: Infinity,
    gcTime: 0,
  });
}

/** Return the options of the class with the problems of the configuration. The last answer stays while one is awaited. */
export function useConfigValidation(
  plugin: string,
  config: Config,
  cluster: string | undefined,
  connector: string | undefined,
) {
  return useQuery({
    queryKey: ["connector-validation", plugin, cluster, connector, config],
    enabled: plugin !== "",
    queryFn: () =>
      send<ConfigValidation>("POST", `connector-plugins/${encodeURIComponent(plugin)}/validate${ofCluster(cluster)}`, {
        config,
        connector: connector ?? null,
      }),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    gcTime: 60_000,
    retry: false,
  });
}

export interface ConfigWrite extends AddressedConnector {
  config: Config;
  /** The configuration that was opened; undefined for a new connector. */
  opened: Config | undefined;
  reason: string;
}

export function useWriteConfig() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ cluster, name, config, opened, reason }: ConfigWrite) =>
      opened === undefined
        ? send<ConnectorConfiguration>("POST", `connectors${ofCluster(cluster)}`, { name, config, reason })
        : send<ConnectorConfiguration>("PUT", connectorPath({ cluster, name }, "/config"), { config, opened, reason }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["connectors"] }),
  });
}

export function useDeleteConnector() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ reason, ...key }: ConnectorKey & { reason: string }) =>
      send<unknown>("POST", connectorPath(key, "/delete"), { reason }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["connectors"] }),
  });
}

/** Return whether a write was refused because somebody else had changed the connector. */
export function isConfigChanged(problem: { code?: string } | undefined): boolean {
  return problem?.code === CHANGED;
}
