import { keepPreviousData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, send } from "./client";
import { useSession } from "./session";
import type {
  AlertDocument,
  AlertPreview,
  AlertRuleDocument,
  AlertRuleList,
  AlertTemplates,
  DeliveryPage,
  RuleBodyRequest,
  TestsQueued,
} from "./schema";

export type {
  AlertCondition as Condition,
  AlertDocument as Alert,
  AlertPreview,
  AlertRuleDocument as AlertRule,
  AlertTemplate,
  AlertTemplates,
  AlertTell,
  ConditionKindDocument as ConditionKind,
  DeliveryDocument as Delivery,
  RuleBodyRequest as RuleBody,
} from "./schema";

const RULES = ["alert-rules"];
const ALERTS = ["alerts"];
const DELIVERIES = ["deliveries"];
const POLL_MS = 10_000;

/** The rules, with their states. The navigation reads them less often than their own screen. */
export function useAlertRules(everyMs = POLL_MS) {
  return useQuery({
    queryKey: RULES,
    queryFn: ({ signal }) => get<AlertRuleList>("alert-rules", undefined, signal),
    refetchInterval: everyMs,
  });
}

/** The templates, the kinds of conditions, and the teams whose rules the user may change. */
export function useAlertTemplates() {
  return useQuery({
    queryKey: ["alert-templates"],
    queryFn: ({ signal }) => get<AlertTemplates>("alert-rules/templates", undefined, signal),
    staleTime: 60_000,
  });
}

/** Return why the user cannot change alerts, if so. Alerts write nothing to Kafka, so a read-only cluster has them too. */
export function useMayNotAlert(): string | undefined {
  const { data } = useSession();
  return data?.role === "operator" ? undefined : "Needs the role operator";
}

/** Return why the user cannot change a rule of this team, if so. A null team counts everything. */
export function useMayNotChange(team: number | null | undefined): string | undefined {
  const { data } = useAlertTemplates();
  const barred = useMayNotAlert();
  if (barred || !data || team === undefined || data.everything) return barred;
  if (team === null) return "Needs the global role operator";
  return data.teams.some(({ id }) => id === team) ? undefined : "Needs the role operator in the rule’s team";
}

/** Create a rule, or replace the one with this id. */
export function useSaveRule(id: number | undefined) {
  return useChange(({ body, key }: { body: RuleBodyRequest; key: string }) =>
    id === undefined
      ? send<AlertRuleDocument>("POST", "alert-rules", body, key)
      : send<AlertRuleDocument>("PUT", `alert-rules/${id}`, body),
  );
}

export function useDeleteRule() {
  return useChange((id: number) => send<void>("DELETE", `alert-rules/${id}`));
}

/** Mute a rule until a time, or all rules that the user may operate. */
export function useMuteRule() {
  return useChange(({ id, until }: { id: number | "all"; until: string }) =>
    send<unknown>("POST", id === "all" ? "alert-rules/mute-all" : `alert-rules/${id}/mute`, { until }),
  );
}

export function useUnmuteRule() {
  return useChange((id: number) => send<AlertRuleDocument>("POST", `alert-rules/${id}/unmute`));
}

export function useTestRule() {
  return useChange((id: number) => send<TestsQueued>("POST", `alert-rules/${id}/test`));
}

/** Ask when an unsaved rule would have fired. The former answer stays until the new one arrives. */
export function useAlertPreview(body: RuleBodyRequest | null) {
  return useQuery({
    queryKey: ["alert-preview", body],
    queryFn: () => send<AlertPreview>("POST", "alerts/preview", body),
    enabled: body !== null,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    retry: false,
  });
}

/** The newest firing alerts of a rule. */
export function useFiringAlerts(rule: AlertRuleDocument | undefined) {
  const params = new URLSearchParams({ rule: String(rule?.id), limit: "20" });
  return useQuery({
    queryKey: [...ALERTS, "rule", rule?.id],
    queryFn: ({ signal }) => get<{ results: AlertDocument[]; next: string | null }>("alerts", params, signal),
    enabled: rule !== undefined && rule.firing + rule.acknowledged > 0,
    select: ({ results }) => results.filter(({ ended_at }) => ended_at === null),
    refetchInterval: POLL_MS,
  });
}

export function useAlert(id: number) {
  return useQuery({
    queryKey: [...ALERTS, id],
    queryFn: ({ signal }) => get<AlertDocument>(`alerts/${id}`, undefined, signal),
    refetchInterval: POLL_MS,
  });
}

export function useAcknowledge() {
  return useChange((id: number) => send<AlertDocument>("POST", `alerts/${id}/acknowledge`));
}

export function useSnooze() {
  return useChange(({ id, until }: { id: number; until: string }) =>
    send<AlertDocument>("POST", `alerts/${id}/snooze`, { until }),
  );
}

/** The messages that were sent, newest first; those of one source, such as "rule 12", if it is given. */
export function useDeliveries(source?: string) {
  return useInfiniteQuery({
    queryKey: [...DELIVERIES, source ?? ""],
    queryFn: ({ pageParam, signal }) => {
      const params = new URLSearchParams({
        limit: "50",
        ...(source && { source }),
        ...(pageParam && { cursor: pageParam }),
      });
      return get<DeliveryPage>("deliveries", params, signal);
    },
    initialPageParam: "",
    getNextPageParam: (last) => last.next ?? undefined,
    refetchInterval: POLL_MS,
  });
}

export function useRetryDelivery() {
  return useChange((id: number) => send<unknown>("POST", `deliveries/${id}/retry`));
}

/** A change after which rules, alerts and messages are read again. */
function useChange<Given, Answer>(run: (given: Given) => Promise<Answer>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: run,
    onSuccess: () => Promise.all([RULES, ALERTS, DELIVERIES].map((queryKey) => client.invalidateQueries({ queryKey }))),
  });
}
