import { useCallback, useEffect, useRef, useState } from "react";
import { ApiError } from "../../api/client";
import { useSaveFix } from "../../api/fixes";
import type { Draft, FixPage, Message } from "../../api/replayTypes";
import { fixBody, partsOf, type MessageParts } from "./messageParts";

const SAVE_DELAY_MS = 800;

export interface DraftState {
  parts: MessageParts;
  change: (next: MessageParts) => void;
  draft: Draft | null;
  /** Whether edits are not saved yet. */
  pending: boolean;
  error: Error | null;
  conflict: boolean;
  /** Saves all edits now. Rejects if the server refuses. */
  flush: () => Promise<void>;
}

/** Keep an edited message as a draft on the server. Saves run one at a time, because each names the version it replaces. */
export function useDraft(id: string, page: FixPage & { original: Message }): DraftState {
  const { mutateAsync } = useSaveFix(id);
  const [parts, setParts] = useState(() => partsOf(page.draft ?? page.original));
  const [draft, setDraft] = useState(page.draft);
  const [pending, setPending] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const latest = useRef<MessageParts | null>(null);
  const base = useRef(page.draft?.updated_at ?? null);
  const saving = useRef<Promise<void> | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);

  const flush = useCallback(() => {
    clearTimeout(timer.current);
    const push = async () => {
      while (latest.current) {
        const sent = latest.current;
        const saved = await mutateAsync(fixBody(sent, base.current));
        base.current = saved.updated_at;
        if (latest.current === sent) latest.current = null;
        setDraft(saved);
      }
      setPending(false);
      setError(null);
    };
    saving.current ??= push()
      .catch((failure: Error) => {
        setError(failure);
        throw failure;
      })
      .finally(() => (saving.current = null));
    return saving.current;
  }, [mutateAsync]);

  const change = useCallback(
    (next: MessageParts) => {
      latest.current = next;
      setParts(next);
      setPending(true);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => void flush().catch(() => undefined), SAVE_DELAY_MS);
    },
    [flush],
  );

  useEffect(() => () => void (latest.current && flush().catch(() => undefined)), [flush]);
  return { parts, change, draft, pending, error, conflict: error instanceof ApiError && error.status === 409, flush };
}
