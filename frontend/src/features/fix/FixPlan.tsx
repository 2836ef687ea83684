import { useState } from "react";
import { useNavigate, useSearchParams } from "react-router";
import { useMaySend } from "../../api/health";
import {
  newIdempotencyKey,
  useRecheckPlan,
  usePlan,
  useReplay,
  useReplayAct,
  useCreateSelection,
} from "../../api/replays";
import type { ReplayOptions } from "../../api/replayTypes";
import type { DeadLetter } from "../../api/types";
import { PlanPanel } from "../plan/PlanPanel";
import { SAFE_RATE, SendPanel } from "../plan/SendPanel";
import styles from "./Fix.module.css";
import type { DraftState } from "./useDraft";

const DEFAULT_OPTIONS: ReplayOptions = { target_topic: "", use_fixes: true, resend: false, rate: SAFE_RATE };

/** The plan of one record's replay, with the button that runs it. The address names the plan, so that a reload keeps it. */
export function FixPlan({
  letter,
  state,
  identical,
  notEncoded,
}: {
  letter: DeadLetter;
  state: DraftState;
  identical: boolean;
  /** Why the draft is older than what the editor shows. */
  notEncoded: string | undefined;
}) {
  const [params, setParams] = useSearchParams();
  const navigate = useNavigate();
  const may = useMaySend();
  const planned = params.get("replay") ?? "";
  const { data } = useReplay(planned, false);
  const replay = data?.status === "planned" ? data : undefined;
  const [wanted, setWanted] = useState<ReplayOptions | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const select = useCreateSelection();
  const plan = usePlan();
  const again = useRecheckPlan(replay?.id ?? 0);
  const act = useReplayAct(replay?.id ?? 0);
  const options =
    wanted ??
    (replay
      ? { target_topic: replay.target_topic, use_fixes: true, resend: replay.resend, rate: replay.rate }
      : DEFAULT_OPTIONS);

  const check = async (next: ReplayOptions) => {
    setBusy(true);
    setError(null);
    try {
      if (state.pending) await state.flush();
      if (replay) await again.mutateAsync(next);
      else {
        const selection = await select.mutateAsync({ what: { ids: [letter.id] }, key: newIdempotencyKey() });
        const made = await plan.mutateAsync({ selection: selection.id, options: next, key: newIdempotencyKey() });
        setParams({ replay: String(made.id) }, { replace: true });
      }
    } catch (failure) {
      setError(failure as Error);
    } finally {
      setBusy(false);
    }
  };
  const changeOptions = (next: ReplayOptions) => {
    setWanted(next);
    if (replay) void check(next);
  };
  const isDraftNewer =
    state.draft && replay?.plan && Date.parse(state.draft.updated_at) > Date.parse(replay.plan.checked_at);
  const stale =
    state.pending || isDraftNewer ? "The draft changed after this check. Check again before sending." : undefined;
  const older = notEncoded && `${notEncoded}. The draft keeps the last one that fits.`;
  return (
    <div className={styles.planColumns}>
      <PlanPanel
        plan={replay?.plan}
        checking={busy}
        error={error}
        stale={older ?? stale}
        onCheck={may.allowed && !notEncoded ? () => void check(options) : undefined}
        before={
          older ?? (identical ? "No edits. The original record will be sent byte for byte." : "The draft will be sent.")
        }
      />
      <SendPanel
        plan={replay?.plan}
        count={1}
        options={options}
        onOptions={changeOptions}
        busy={busy || act.isPending}
        error={act.error}
        barred={notEncoded ?? (replay && stale && "Check again first")}
        approval={replay?.approval}
        onRequestApproval={(why) =>
          replay?.plan && act.mutate({ act: "ask", body: { reason: why, plan_digest: replay.plan.digest } })
        }
        onApprove={() =>
          replay?.plan && act.mutate({ act: "approve", body: { reason: "", plan_digest: replay.plan.digest } })
        }
        onReject={(why) => act.mutate({ act: "reject", body: { reason: why } })}
        onCheck={() => void check(options)}
        onRun={(reason, typed) =>
          replay?.plan &&
          act.mutate(
            { act: "run", body: { reason, plan_digest: replay.plan.digest, typed } },
            { onSuccess: () => void navigate(`/replays/${replay.id}`) },
          )
        }
      />
    </div>
  );
}
