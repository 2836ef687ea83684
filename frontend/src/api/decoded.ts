import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, send } from "./client";
import type {
  DecodedDocument,
  DecodedFix,
  EncodeBodyRequest,
  EncodedDocument,
  RegistryBodyRequest,
  RegistryList,
  RegistryTestAnswer,
} from "./schema";

export type {
  DecodedDocument as Decoded,
  DecodedFieldRow as DecodedField,
  DecoderReport,
  EncodedDocument as Encoded,
  RegistryBodyRequest as RegistryBody,
  RegistryDocument as Registry,
  SchemaUse,
} from "./schema";

export type RecordPart = DecodedDocument["part"];

/** The decoded key or value of a dead letter. */
export function useDecoded(id: number, part: RecordPart, wanted: boolean) {
  return useQuery({
    queryKey: ["decoded", id, part],
    enabled: wanted,
    queryFn: ({ signal }) => get<DecodedDocument>(`dead-letters/${id}/decoded`, new URLSearchParams({ part }), signal),
    staleTime: 60_000,
    retry: false,
  });
}

/**
 * The original key or value and the user's draft of it, decoded once, so that nothing changes under the editor.
 * `saved` is the time of the draft that the page was loaded with.
 */
export function useDecodedFix(id: string, part: RecordPart, saved: string | null, wanted: boolean) {
  return useQuery({
    queryKey: ["decoded-fix", id, part, saved],
    enabled: wanted,
    queryFn: ({ signal }) => get<DecodedFix>(`dead-letters/${id}/fix/decoded`, new URLSearchParams({ part }), signal),
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
  });
}

/** Check an edit against the schema and encode it. Nothing is stored. */
export function useEncode(id: string) {
  return useMutation({
    mutationFn: (body: EncodeBodyRequest) => send<EncodedDocument>("POST", `dead-letters/${id}/fix/encode`, body),
  });
}

export function useRegistries() {
  return useQuery({
    queryKey: ["registries"],
    queryFn: ({ signal }) => get<RegistryList>("registries", undefined, signal),
  });
}

export function useTestRegistry() {
  return useMutation({
    mutationFn: (cluster: string) => send<RegistryTestAnswer>("POST", `registries/${encodeURIComponent(cluster)}/test`),
  });
}

/** Set or remove the registry of a cluster. Decoded values are read again. */
export function useChangeRegistry() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ cluster, body }: { cluster: string; body: RegistryBodyRequest | null }) =>
      send<unknown>(body ? "PUT" : "DELETE", `registries/${encodeURIComponent(cluster)}`, body ?? undefined),
    onSuccess: () =>
      Promise.all([
        client.invalidateQueries({ queryKey: ["registries"] }),
        client.invalidateQueries({ queryKey: ["decoded"] }),
      ]),
  });
}
