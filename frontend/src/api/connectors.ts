import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { followed } from "../lib/streaming";
import { get, send } from "./client";
import type { ConnectorList } from "./types";

export type ConnectorAct = "pause" | "resume" | "stop" | "restart";

export function useConnectors() {
  return useQuery({
    queryKey: ["connectors"],
    queryFn: ({ signal }) => get<ConnectorList>("connectors", undefined, signal),
    ...followed(5_000),
  });
}

/** Ask the engine to change a connector, or to restart one `task`. */
export function useConnectorAct() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ name, act, task, reason }: { name: string; act: ConnectorAct; task?: number; reason: string }) =>
      send<unknown>(
        "POST",
        `connectors/${encodeURIComponent(name)}/${task === undefined ? act : `tasks/${task}/${act}`}`,
        { reason },
      ),
    onSuccess: () =>
      Promise.all(["connectors", "attention"].map((key) => client.invalidateQueries({ queryKey: [key] }))),
  });
}
