import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, send } from "./client";
import type { Session } from "./types";

const KEY = ["session"];

export function useSession() {
  return useQuery({ queryKey: KEY, queryFn: ({ signal }) => get<Session>("session", undefined, signal), staleTime: 60_000 });
}

/** Whether the signed-in person may write, and the sentence that says why not. */
export function useMayWrite(): { allowed: boolean; reason: string } {
  const { data } = useSession();
  if (data?.read_only) return { allowed: false, reason: "This cluster is read-only" };
  return { allowed: data?.role === "operator", reason: "Needs the role operator" };
}

export function useSignIn() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (credentials: { username: string; password: string }) => send<Session>("POST", "session", credentials),
    onSuccess: () => client.invalidateQueries(),
  });
}

export function useSignOut() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => send<void>("DELETE", "session"),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: KEY });
      client.removeQueries({ predicate: (query) => query.queryKey[0] !== "session" });
    },
  });
}
