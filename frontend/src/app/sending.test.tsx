import { QueryClient } from "@tanstack/react-query";
import { act, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { Route, Routes } from "react-router";
import { beforeEach, expect, it, vi } from "vitest";
import type { BulkFix } from "../api/bulkFixes";
import type { Plan, Replay } from "../api/replayTypes";
import type { DeadLetter } from "../api/types";
import { BulkJob } from "../features/bulkfix/BulkJob";
import { FixPlan } from "../features/fix/FixPlan";
import type { DraftState } from "../features/fix/useDraft";
import { PlanApproval } from "../features/plan/PlanApproval";
import { ReplayHeader } from "../features/replays/ReplayHeader";
import { NewReplay } from "../features/replays/NewReplay";
import { PlannedReplay } from "../features/replays/PlannedReplay";
import { inApp } from "../testing";

const SELECTION = {
  id: 7,
  count: 2,
  watermark: 9,
  digest: "ab",
  title: "topic a",
  created_at: "2026-11-22T00:00:00Z",
  created_by: "eve",
};
const NOBODY = {
  needed: false,
  reasons: [],
  barred: [],
  above: 9,
  asked_by: null,
  asked_at: null,
  approved_by: null,
  approved_at: null,
  void: false,
  approved: false,
  rate: null,
};
const COUNTS = {
  total: 2,
  planned: 0,
  queued: 1,
  sending: 0,
  waiting: 0,
  passed: 1,
  failed_again: 0,
  unknown: 0,
  skipped: 0,
};
const PLAN = {
  records_digest: "ef",
  rate: 0,
  elsewhere: 0,
  newer: 0,
  checked_at: new Date().toISOString(),
  took_ms: 9,
  digest: "cd",
  total: 2,
  to_send: 2,
  edited: 0,
  skipped: [],
  checks: [],
  targets: [],
  headers: { added: [], stripped: [] },
  confirm: null,
  runnable: true,
} as Plan;
const REPLAY = {
  id: 3,
  title: "topic a",
  target_topic: "",
  target_cluster: "",
  rate: 100,
  edited: 0,
  watching: [],
  counts: COUNTS,
  steps: [],
  canary: null,
  trouble: "",
  resuming: "",
  selection: SELECTION,
  approval: NOBODY,
} as unknown as Replay;
const BULK = {
  id: 4,
  kind: "jq",
  program: ".",
  status: "done",
  counts: { matched: 2, changed: 2, untouched: 0, invalid: 0, kept: 0 },
  why: [],
  trouble: "",
  drafts: 2,
  selection: SELECTION,
  author: "eve",
  created_at: SELECTION.created_at,
} as unknown as BulkFix;

const away = { reachable: false };
const readOnly = { readOnly: true };
const AWAY = "Kafka does not respond";
const READ_ONLY = "This cluster is read-only";

let asked: string[];

beforeEach(() => {
  asked = [];
  vi.stubGlobal("fetch", (url: string, init?: RequestInit) => {
    if (init?.method === "POST") asked.push(url);
    return new Promise<Response>(() => undefined);
  });
});

/** Return the approver's view: its text, and the reason why each button is disabled. */
async function shown(
  screen: ReactNode,
  { reachable = true, readOnly = false } = {},
  address = "/",
): Promise<{ words: string; barred: (name: string) => string | undefined }> {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(["session"], { username: "eve", role: "operator", approver: true, read_only: readOnly });
  client.setQueryData(["health"], { broker: { reachable } });
  client.setQueryData(["replay", "3"], { ...REPLAY, status: "planned", plan: PLAN });
  client.setQueryData(["bulk-fix", "4"], BULK);
  const host = document.body.appendChild(document.createElement("div"));
  const root = createRoot(host);
  const routes = (
    <Routes>
      <Route path="/bulk-fixes/:id" element={screen} />
      <Route path="*" element={screen} />
    </Routes>
  );
  await act(() => root.render(inApp(client, routes, address)));
  const copy = host.cloneNode(true) as HTMLElement;
  await act(() => root.unmount());
  host.remove();
  const buttons = [...copy.querySelectorAll("button")];
  return {
    words: copy.textContent,
    barred: (name) =>
      buttons.find((one) => one.textContent.startsWith(name))?.getAttribute("aria-description") ?? undefined,
  };
}

it("a paused replay is not resumed while Kafka is away, and can be cancelled", async () => {
  const screen = <ReplayHeader replay={{ ...REPLAY, status: "paused" }} />;
  expect((await shown(screen)).barred("Resume")).toBeUndefined();
  const { barred } = await shown(screen, away);
  expect(barred("Resume")).toBe(AWAY);
  expect(barred("Cancel")).toBeUndefined();
  expect((await shown(screen, readOnly)).barred("Cancel")).toBe(READ_ONLY);
});

it("a running replay can be paused while Kafka is away", async () => {
  expect(
    (await shown(<ReplayHeader replay={{ ...REPLAY, status: "running" }} />, away)).barred("Pause"),
  ).toBeUndefined();
});

it.each([
  [
    "of many",
    <PlannedReplay key="many" replay={{ ...REPLAY, status: "planned", plan: PLAN }} />,
    "Replay 2 records",
    "/",
  ],
  [
    "of one fix",
    <FixPlan key="one" letter={{ id: 5 } as DeadLetter} state={{} as DraftState} identical notEncoded={undefined} />,
    "Replay 1 record",
    "/?replay=3",
  ],
])("a plan %s is neither run nor checked again where nothing can be sent", async (_, screen, run, address) => {
  expect((await shown(screen, {}, address)).words).toContain("Check again");
  for (const [held, why] of [
    [away, AWAY],
    [readOnly, READ_ONLY],
  ] as const) {
    const { words, barred } = await shown(screen, held, address);
    expect(barred(run) ?? barred("Replay 2")).toBe(why);
    expect(words).not.toContain("Check again");
  }
});

it("a draft that is older than its editor is neither sent nor checked", async () => {
  const why = "The edited value is not encoded";
  const screen = (
    <FixPlan letter={{ id: 5 } as DeadLetter} state={{} as DraftState} identical={false} notEncoded={why} />
  );
  const planned = await shown(screen, {}, "/?replay=3");
  expect(planned.barred("Replay 2") ?? planned.barred("Replay 1 record")).toBe(why);
  expect(planned.words).toContain(`${why}. The draft keeps the last one that fits.`);
  expect(planned.words).not.toContain("Check again");
  expect((await shown(screen)).barred("Check the plan")).toBe(why);
});

it("no replay is planned of a selection while nothing can be sent", async () => {
  for (const [held, why] of [
    [away, AWAY],
    [readOnly, READ_ONLY],
  ] as const) {
    expect((await shown(<NewReplay />, held, "/?selection=7")).words).toContain(`No replay can be planned now${why}.`);
  }
  expect(asked).toEqual([]);
  await shown(<NewReplay />, {}, "/?selection=7");
  expect(asked).toEqual(["/api/v1/replays"]);
});

it("the replay of a bulk fix is not planned while Kafka is away, and its drafts can be undone", async () => {
  const { barred } = await shown(<BulkJob />, away, "/bulk-fixes/4");
  expect(barred("Plan the replay of 2 records")).toBe(AWAY);
  expect(barred("Undo")).toBeUndefined();
  expect((await shown(<BulkJob />, readOnly, "/bulk-fixes/4")).barred("Undo")).toBe(READ_ONLY);
  expect((await shown(<BulkJob />, {}, "/bulk-fixes/4")).barred("Plan the replay of 2 records")).toBeUndefined();
});

it("nobody approves where nothing may be written", async () => {
  const approval = { ...NOBODY, needed: true, asked_by: "ada", asked_at: SELECTION.created_at };
  const screen = (
    <PlanApproval
      approval={approval}
      busy={false}
      error={null}
      barred={undefined}
      onApprove={() => undefined}
      onReject={() => undefined}
    />
  );
  expect((await shown(screen)).barred("Approve")).toBeUndefined();
  expect((await shown(screen, readOnly)).barred("Approve")).toBe(READ_ONLY);
});
