import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useIsNarrowWindow } from "../lib/narrowWindow";
import { get, send } from "./client";
import type { Session } from "./types";

export const SESSION = ["session"];
export const SESSION_ENDED = ["session-ended"];
export const SIGN_OUT = ["sign-out"];

export function useSession() {
  return useQuery({
    queryKey: SESSION,
    queryFn: ({ signal }) => get<Session>("session", undefined, signal),
    staleTime: 60_000,
  });
}

/** Return the user's role in words. An approver is an operator who may also approve. */
export function roleName({
  administrator,
  approver,
  role,
}: Pick<Session, "administrator" | "approver" | "role">): string {
  if (administrator) return "administrator";
  return approver ? "approver" : (role ?? "without a role");
}

/** Return whether the session expired; true until the next sign-in. */
export function useSessionEnded(): boolean {
  return useQuery({
    queryKey: SESSION_ENDED,
    queryFn: () => false,
    initialData: false,
    staleTime: Infinity,
    gcTime: Infinity,
  }).data;
}

export interface Permission {
  allowed: boolean;
  /** The reason why not. */
  reason: string;
}

/** Return whether the user can act: pause, resume, cancel, mute, resolve, dismiss. It works in each window. */
export function useMayAct(): Permission {
  const { data } = useSession();
  if (data?.read_only) return { allowed: false, reason: "This cluster is read-only" };
  return { allowed: data?.role === "operator", reason: "Needs the role operator" };
}

/** Return whether the user can edit and send records, for which a narrow window has too little room. */
export function useMayWrite(): Permission {
  const may = useMayAct();
  const isNarrow = useIsNarrowWindow();
  return may.allowed && isNarrow ? { allowed: false, reason: "Writing needs a window at least 800 px wide" } : may;
}

/** Return the reason why the user cannot see the content of records, if so. */
export function useMayNotRead(): string | undefined {
  const { data } = useSession();
  return data?.payload_reader ? undefined : "Needs the right payload reader";
}

/** Return whether the user can edit records, which also shows their content. */
export function useMayEdit(): Permission {
  const may = useMayWrite();
  const barred = useMayNotRead();
  return may.allowed && barred ? { allowed: false, reason: barred } : may;
}

/** Return the reason why the user cannot change what the dashboard itself does, if so. */
export function useMayNotAdminister(): string | undefined {
  const { data } = useSession();
  return data?.administrator ? undefined : "Needs an administrator";
}

export function useSignIn() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (credentials: { username: string; password: string; code?: string }) =>
      send<Session>("POST", "session", credentials),
    onSuccess: () => client.invalidateQueries(),
  });
}

export function useSignOut() {
  const client = useQueryClient();
  return useMutation({
    mutationKey: SIGN_OUT,
    mutationFn: () => send<Session>("DELETE", "session"),
    onSuccess: async ({ sign_out_path }) => {
      if (sign_out_path) {
        window.location.assign(sign_out_path); // the provider's own session ends too
        return;
      }
      await client.invalidateQueries({ queryKey: SESSION });
      client.removeQueries({ predicate: (query) => query.queryKey[0] !== "session" });
    },
  });
}
