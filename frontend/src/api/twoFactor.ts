import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, send } from "./client";
import type { RecoveryCodes, TwoFactorSecret, TwoFactorState } from "./schema";

export type { TwoFactorSecret } from "./schema";

const TWO_FACTOR = ["two-factor"];

/** Load whether the user's account has two-factor sign-in. */
export function useTwoFactor() {
  return useQuery({
    queryKey: TWO_FACTOR,
    queryFn: ({ signal }) => get<TwoFactorState>("account/two-factor", undefined, signal),
  });
}

export function useBeginTwoFactor() {
  return useMutation({
    mutationFn: (password: string) => send<TwoFactorSecret>("POST", "account/two-factor", { password }),
    gcTime: 0, // the response contains the secret
  });
}

/** Switch two-factor sign-in on, which ends the user's other sessions. */
export function useConfirmTwoFactor() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (code: string) => send<RecoveryCodes>("POST", "account/two-factor/confirm", { code }),
    onSuccess: () => client.invalidateQueries({ queryKey: TWO_FACTOR }),
    gcTime: 0, // the response contains the recovery codes
  });
}

export function useEndTwoFactor() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: { password: string; code: string }) =>
      send<TwoFactorState>("POST", "account/two-factor/off", body),
    onSuccess: () => client.invalidateQueries({ queryKey: TWO_FACTOR }),
    gcTime: 0, // the variables contain the password
  });
}
