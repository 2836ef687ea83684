import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, send } from "./client";
import type {
  MaskingPreview,
  MaskingRuleBodyRequest,
  MaskingRuleDocument,
  MaskingRuleList,
  PreviewBodyRequest,
  RevealBodyRequest,
  RevealedDocument,
} from "./schema";

export type {
  MaskingPreview,
  MaskingRuleBodyRequest as MaskingRuleBody,
  MaskingRuleDocument as MaskingRule,
} from "./schema";

/** The masking rules that the user may see. */
export function useMaskingRules(enabled: boolean) {
  return useQuery({
    enabled,
    queryKey: ["masking-rules"],
    queryFn: ({ signal }) => get<MaskingRuleList>("masking-rules", undefined, signal),
    retry: false,
  });
}

/** Save a rule; without an id add it. Everything that is shown may change with it. */
export function useSaveMaskingRule() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, body }: { id: number | null; body: MaskingRuleBodyRequest }) =>
      id === null
        ? send<MaskingRuleDocument>("POST", "masking-rules", body)
        : send<MaskingRuleDocument>("PUT", `masking-rules/${id}`, body),
    onSuccess: () => client.invalidateQueries(),
  });
}

export function useDeleteMaskingRule() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: number) => send<unknown>("DELETE", `masking-rules/${id}`),
    onSuccess: () => client.invalidateQueries(),
  });
}

/** Try an unsaved rule. Nothing is stored, and no example stays in the cache. */
export function usePreviewMaskingRule() {
  return useMutation({
    mutationFn: (body: PreviewBodyRequest) => send<MaskingPreview>("POST", "masking-rules/preview", body),
    gcTime: 0,
  });
}

/** Reveal masked content once. It does not stay in the cache. */
export function useReveal(id: number) {
  return useMutation({
    mutationFn: (body: RevealBodyRequest) => send<RevealedDocument>("POST", `dead-letters/${id}/reveal`, body),
    gcTime: 0,
  });
}
