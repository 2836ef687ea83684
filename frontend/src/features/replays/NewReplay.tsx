import { useEffect, useRef } from "react";
import { useNavigate, useSearchParams } from "react-router";
import { useMaySend } from "../../api/health";
import { newIdempotencyKey, usePlan } from "../../api/replays";
import { selectionName } from "../../lib/naming";
import { Button } from "../../ui/controls";
import { SkeletonRows, Notice, PageHead, Panel } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import { SAFE_RATE } from "../plan/SendPanel";

/** Plans a replay of a selection, then opens it. */
export function NewReplay() {
  const [params] = useSearchParams();
  const navigate = useNavigate();
  const may = useMaySend();
  const { mutate, error, reset } = usePlan();
  const key = useRef<string>(undefined);
  const selection = Number(params.get("selection"));
  const ready = may.allowed && selection > 0 && !error;
  useTitle("New replay");
  useEffect(() => {
    if (!ready || key.current !== undefined) return;
    key.current = newIdempotencyKey();
    mutate(
      { selection, options: { target_topic: "", use_fixes: true, resend: false, rate: SAFE_RATE }, key: key.current },
      {
        onSuccess: (replay) => void navigate(`/replays/${replay.id}`, { replace: true }),
        onError: () => (key.current = undefined),
      },
    );
  }, [ready, selection, mutate, navigate]);
  return (
    <>
      <PageHead
        title="Replay"
        note={
          selection > 0
            ? `Selection ${selectionName(selection)} is checked. Nothing is written.`
            : "No records are selected."
        }
      />
      <Panel>
        {!may.allowed ? (
          <Notice title="No replay can be planned now">{may.reason}.</Notice>
        ) : selection > 0 ? (
          error ? (
            <Notice title="The plan could not be loaded" actions={<Button onClick={reset}>Try again</Button>}>
              {error.message}
            </Notice>
          ) : (
            <SkeletonRows rows={8} />
          )
        ) : (
          <Notice title="No records are selected" actions={<Button to="/records">Choose records</Button>}>
            Select records, or select all records that match a filter.
          </Notice>
        )}
      </Panel>
    </>
  );
}
