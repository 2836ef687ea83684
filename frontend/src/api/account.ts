import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, send } from "./client";
import type { TokenDocument as ApiToken, CreatedToken, TokenListDocument as TokenList } from "./schema";

export type { TokenDocument as ApiToken, CreatedToken } from "./schema";

const TOKENS = ["tokens"];

/** Load the user's tokens, or those of everybody, newest first. */
export function useTokens(everybody = false) {
  return useQuery({
    queryKey: [...TOKENS, everybody],
    queryFn: ({ signal }) =>
      get<TokenList>("tokens", everybody ? new URLSearchParams({ everybody: "true" }) : undefined, signal),
    refetchInterval: 60_000,
  });
}

export function useCreateToken() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: { name: string; scopes: string[]; days: number; team: number | null }) =>
      send<CreatedToken>("POST", "tokens", body),
    onSuccess: () => client.invalidateQueries({ queryKey: TOKENS }),
    gcTime: 0, // the response contains the secret
  });
}

export function useRevokeToken() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: number) => send<ApiToken>("DELETE", `tokens/${id}`),
    onSettled: () => client.invalidateQueries({ queryKey: TOKENS }),
  });
}

/** Change the user's password, which ends the user's other sessions and tokens. */
export function useChangePassword() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: { current: string; new: string }) => send<void>("POST", "account/password", body),
    onSuccess: () => client.invalidateQueries({ queryKey: TOKENS }),
    gcTime: 0, // the variables contain passwords
  });
}
