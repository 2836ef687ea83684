import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { Config } from "../lib/properties";
import { get, send } from "./client";
import type { ConfigValidation, ConnectorConfiguration, ConnectorPluginList } from "./schema";

export type { ConfigValidation, ConnectorConfiguration, ConnectorOption, ConnectorPlugin } from "./schema";

const CHANGED = "configuration_changed";

export function useConnectorPlugins() {
  return useQuery({
    queryKey: ["connector-plugins"],
    queryFn: ({ signal }) => get<ConnectorPluginList>("connector-plugins", undefined, signal),
    staleTime: 60_000,
  });
}

/** Return the configuration as the engine has it; it is read once, because a person edits it. */
export function useConnectorConfig(name: string | undefined) {
  return useQuery({
    queryKey: ["connector-config", name],
    enabled: name !== undefined,
    queryFn: ({ signal }) => get<ConnectorConfiguration>(`${path(name!)}/config`, undefined, signal),
    staleTime: Infinity,
    gcTime: 0,
  });
}

/** Return the options of the class with the problems of the configuration. The last answer stays while one is awaited. */
export function useConfigValidation(plugin: string, config: Config, connector: string | undefined) {
  return useQuery({
    queryKey: ["connector-validation", plugin, connector, config],
    enabled: plugin !== "",
    queryFn: () =>
      send<ConfigValidation>("POST", `connector-plugins/${encodeURIComponent(plugin)}/validate`, {
        config,
        connector: connector ?? null,
      }),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    gcTime: 60_000,
    retry: false,
  });
}

export interface ConfigWrite {
  name: string;
  config: Config;
  /** The configuration that was opened; undefined for a new connector. */
  opened: Config | undefined;
  reason: string;
}

export function useWriteConfig() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ name, config, opened, reason }: ConfigWrite) =>
      opened === undefined
        ? send<ConnectorConfiguration>("POST", "connectors", { name, config, reason })
        : send<ConnectorConfiguration>("PUT", `${path(name)}/config`, { config, opened, reason }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["connectors"] }),
  });
}

export function useDeleteConnector() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ name, reason }: { name: string; reason: string }) =>
      send<unknown>("POST", `${path(name)}/delete`, { reason }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["connectors"] }),
  });
}

/** Return whether a write was refused because somebody else had changed the connector. */
export function isConfigChanged(problem: { code?: string } | undefined): boolean {
  return problem?.code === CHANGED;
}

function path(name: string): string {
  return `connectors/${encodeURIComponent(name)}`;
}
