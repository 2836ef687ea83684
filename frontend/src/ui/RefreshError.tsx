import { ago } from "../lib/format";
import { useNow } from "../lib/zone";
import { LinkButton } from "./controls";
import { Strip } from "./Panel";

/** Says that what is shown stands although asking again failed, and of when it is; `at` in milliseconds. */
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
