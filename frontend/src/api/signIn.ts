import { useQuery } from "@tanstack/react-query";
import { get } from "./client";
import type { SignInOptions } from "./schema";

/** Load what the sign-in page offers. The server tells a refusal once, so the answer is kept. */
export function useSignInOptions() {
  return useQuery({
    queryKey: ["sign-in-options"],
    queryFn: ({ signal }) => get<SignInOptions>("sign-in-options", undefined, signal),
    staleTime: Infinity,
  });
}
