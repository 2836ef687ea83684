import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act } from "react";
import { createRoot } from "react-dom/client";
import { MemoryRouter } from "react-router";
import { expect, it } from "vitest";
import type { Replay } from "../../api/replayTypes";
import { ReplayHeader } from "./ReplayHeader";

const COUNTS = {
  total: 2,
  planned: 0,
  queued: 0,
  sending: 0,
  waiting: 2,
  passed: 0,
  failed_again: 0,
  unknown: 0,
  skipped: 0,
};
const REPLAY = {
  id: 3,
  title: "topic a",
  status: "watching",
  target_topic: "",
  target_cluster: "",
  rate: 100,
  edited: 0,
  watching: [],
  counts: COUNTS,
  steps: [],
  canary: null,
  trouble: "",
  selection: { id: 7 },
  approval: { rate: null },
} as unknown as Replay;
const RESOLVES = "When the replay ends, each group whose records all passed is resolved, unless it has new failures.";

/** Return the header's text. */
async function words(replay: Partial<Replay>): Promise<string> {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(["session"], { username: "eve", role: "operator", approver: false, read_only: false });
  client.setQueryData(["health"], { broker: { reachable: true } });
  const host = document.createElement("div");
  const root = createRoot(host);
  const screen = (
    <MemoryRouter>
      <ReplayHeader replay={{ ...REPLAY, ...replay }} />
    </MemoryRouter>
  );
  await act(() =>
    root.render(
      <MantineProvider env="test">
        <QueryClientProvider client={client}>{screen}</QueryClientProvider>
      </MantineProvider>,
    ),
  );
  const said = host.textContent;
  await act(() => root.unmount());
  return said;
}

it("says that groups are resolved where that was asked for and may still be", async () => {
  expect(await words({ resolve_groups: true })).toContain(RESOLVES);
  expect(await words({ resolve_groups: false })).not.toContain(RESOLVES);
  expect(await words({ resolve_groups: true, status: "cancelled" })).not.toContain(RESOLVES);
});

it("tells a speed that stands between two steps of the slider as it is", async () => {
  expect(await words({ status: "running", rate: 4 })).toContain("4 / s");
});
