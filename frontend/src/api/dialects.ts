import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { MappingDraft } from "../lib/mapping";
import { followed } from "../lib/streaming";
import { API, get, send } from "./client";
import type { DialectList, MappingVersions, ReadYaml, TryOut } from "./schema";

export type {
  DialectList,
  FactKind,
  FoundFact,
  MappingDocument as Mapping,
  MappingSummary,
  MappingVersionDocument as MappingVersion,
  ProposalDocument as Proposal,
  RereadDocument as Reread,
  TriedLetter,
  TryOut,
} from "./schema";

const POLL_MS = 5_000;
const LIST = ["dialects"];

export function useDialects() {
  return useQuery({
    queryKey: LIST,
    queryFn: ({ signal }) => get<DialectList>("dialects", undefined, signal),
    ...followed(POLL_MS),
  });
}

/** Return the versions of a mapping, read once, because a person edits the newest. */
export function useMappingVersions(name: string | undefined) {
  return useQuery({
    queryKey: ["mapping", name],
    enabled: name !== undefined,
    queryFn: ({ signal }) => get<MappingVersions>(path(name!), undefined, signal),
    staleTime: Infinity,
    gcTime: 0,
  });
}

/** Read the newest letters of a topic with a mapping that is not saved. The topic's last answer stays while one is awaited. */
export function useTryOut(topic: string, mapping: MappingDraft, letter: number, barred: boolean) {
  return useQuery({
    queryKey: ["mapping-try", topic, mapping, letter],
    enabled: topic !== "" && !barred,
    queryFn: () => send<TryOut>("POST", "dialects/try", { topic, mapping, letter }),
    placeholderData: (last, query) => (query?.queryKey[1] === topic ? last : undefined),
    staleTime: 30_000,
    gcTime: 60_000,
    retry: false,
  });
}

export interface MappingWrite {
  mapping: MappingDraft;
  /** The version that was opened; null for a new mapping. */
  opened: number | null;
  /** The topics to read again with it. */
  reread: readonly string[];
  reason: string;
}

export function useSaveMapping() {
  return useChange(({ mapping, ...body }: MappingWrite) =>
    send<DialectList>("PUT", path(mapping.name), { mapping, ...body }),
  );
}

export function useRetireMapping() {
  return useChange(({ name, reason }: { name: string; reason: string }) =>
    send<DialectList>("DELETE", path(name), { reason }),
  );
}

export function useReadYaml() {
  return useMutation({ mutationFn: (yaml: string) => send<ReadYaml>("POST", "dialects/yaml", { yaml }) });
}

/** The address of a mapping as a YAML file. */
export function yamlAddress(name: string): string {
  return `${API}/${path(name)}/yaml`;
}

function useChange<T>(change: (body: T) => Promise<DialectList>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: (list) => {
      client.setQueryData<DialectList>(LIST, list);
      return client.invalidateQueries({ queryKey: LIST });
    },
  });
}

function path(name: string): string {
  return `dialects/mappings/${encodeURIComponent(name)}`;
}
