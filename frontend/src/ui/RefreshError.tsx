import { ago } from "../lib/format";
import { useNow } from "../lib/zone";
import { LinkButton } from "./controls";
import { Strip } from "./Panel";

/** Says that a refresh failed and how old the visible data is; `at` is in milliseconds. */
export function RefreshError({ error, at, onAgain }: { error: Error; at: number; onAgain: () => void }) {
  const now = useNow(5_000);
  return (
    <Strip tone="warn">
      <span>
        Not refreshed: {error.message} Shown data is from {ago(new Date(at).toISOString(), now)}.{" "}
        <LinkButton onClick={onAgain}>Try again</LinkButton>
      </span>
    </Strip>
  );
}
