import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, send } from "./client";
import type {
  Assignees,
  ChannelList,
  IssueDocument,
  MentionList,
  OwnershipPreview,
  OwnershipRuleBodyRequest,
  OwnershipRules,
  TrackerBodyRequest,
  TrackerDocument,
  TrackerList,
} from "./schema";

export type {
  IssueDocument as Issue,
  MentionDocument as Mention,
  OwnershipRuleDocument as OwnershipRule,
  TrackerBodyRequest as TrackerBody,
  TrackerDocument as Tracker,
} from "./schema";

const MENTIONS = ["mentions"];
const RULES = ["ownership-rules"];
const TRACKERS = ["issue-trackers"];
const MENTIONS_POLL_MS = 60_000;

/** Load the names of the people and teams to whom groups can be assigned. */
export function useAssignees(enabled = true) {
  return useQuery({
    queryKey: ["assignees"],
    queryFn: ({ signal }) => get<Assignees>("assignees", undefined, signal),
    staleTime: 60_000,
    enabled,
  });
}

/** Load the newest notes that mention the user, again every minute. */
export function useMentions() {
  return useQuery({
    queryKey: MENTIONS,
    queryFn: ({ signal }) => get<MentionList>("mentions", undefined, signal),
    refetchInterval: MENTIONS_POLL_MS,
  });
}

/** Mark all mentions as seen. The loaded list keeps telling which ones are new. */
export function useMarkMentionsSeen() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => send<MentionList>("POST", "mentions/seen"),
    onSuccess: () => client.setQueryData<MentionList>(MENTIONS, (before) => before && { ...before, unseen: 0 }),
  });
}

export function useOwnershipRules() {
  return useQuery({
    queryKey: RULES,
    queryFn: ({ signal }) => get<OwnershipRules>("ownership-rules", undefined, signal),
  });
}

/** Count the groups that each rule would assign. Nothing is saved. */
export function usePreviewRules() {
  return useMutation({
    mutationFn: (rules: readonly OwnershipRuleBodyRequest[]) =>
      send<OwnershipPreview>("POST", "ownership-rules/preview", { rules }),
  });
}

export function useSaveRules() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (rules: readonly OwnershipRuleBodyRequest[]) =>
      send<OwnershipRules>("PUT", "ownership-rules", { rules }),
    onSuccess: (saved) => client.setQueryData(RULES, saved),
  });
}

/** Assign the groups that nobody owns by the saved rules. */
export function useApplyRules() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => send<{ changed: number }>("POST", "ownership-rules/apply"),
    onSuccess: () =>
      ["groups", "group", "group-counts"].forEach((key) => void client.invalidateQueries({ queryKey: [key] })),
  });
}

export function useTrackers() {
  return useQuery({
    queryKey: TRACKERS,
    queryFn: ({ signal }) => get<TrackerList>("issue-trackers", undefined, signal),
    staleTime: 60_000,
  });
}

/** Add a tracker, change the one with this id, or remove it if the body is null. */
export function useChangeTracker() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, body }: { id: number | null; body: TrackerBodyRequest | null }) =>
      id === null
        ? send<TrackerDocument>("POST", "issue-trackers", body)
        : send<unknown>(body ? "PUT" : "DELETE", `issue-trackers/${id}`, body ?? undefined),
    onSuccess: () => client.invalidateQueries({ queryKey: TRACKERS }),
  });
}

/** Load the channels that are webhooks. */
export function useWebhooks() {
  return useQuery({
    queryKey: ["channels", "webhook"],
    queryFn: ({ signal }) => get<ChannelList>("channels", undefined, signal),
    select: (list) => list.channels.filter(({ kind }) => kind === "webhook"),
  });
}

export type IssueAct =
  | { act: "link"; name: string; url: string }
  | { act: "unlink"; issue: number }
  | { act: "create"; tracker: number; key: string };

/** Link a group to an issue, remove a link, or let the webhook of a tracker create an issue. */
export function useIssueAct(group: number) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (what: IssueAct): Promise<unknown> => {
      const path = `groups/${group}/issues`;
      if (what.act === "unlink") return send<void>("DELETE", `${path}/${what.issue}`);
      if (what.act === "create")
        return send<IssueDocument>("POST", `${path}/create`, { tracker: what.tracker }, what.key);
      return send<IssueDocument>("POST", path, { name: what.name, url: what.url });
    },
    onSuccess: () => client.invalidateQueries({ queryKey: ["group", group] }),
  });
}
