import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot } from "react-dom/client";
import { expect, it } from "vitest";
import type { DeadLetter } from "../../api/types";
import { TimelinePanel } from "./TimelinePanel";
import { inApp } from "../../testing";

const at = (second: number) => `2026-11-22T10:00:0${second}Z`;
const LETTER = {
  id: 4,
  failed_at: at(0),
  timeline: [{ at: at(0), kind: "failed", text: "Failed" }],
} as unknown as DeadLetter;

/** Return the text and link of each timeline row. */
async function rows(replays: unknown): Promise<[string, string | null][]> {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(["replays-of", 4], replays);
  const host = document.createElement("div");
  const root = createRoot(host);
  await act(() => root.render(inApp(client, <TimelinePanel letter={LETTER} />)));
  const told = [...host.querySelectorAll("i + span")].map((row): [string, string | null] => [
    row.textContent,
    row.querySelector("a")?.getAttribute("href") ?? null,
  ]);
  await act(() => root.unmount());
  return told;
}

it("tells once of a dead letter that an outcome led to, and of the others of its line", async () => {
  const timeline = [
    { at: at(1), kind: "replay_sent", text: "Sent by R-1", replay: 1, dead_letter: null },
    { at: at(3), kind: "replay_outcome", text: "Failed again: why", replay: 1, dead_letter: 5 },
  ];
  const lineage = [4, 5, 6].map((id) => ({ dead_letter: id, at: at(id - 3), text: `d / 0 / ${id}` }));
  expect(await rows({ results: [], timeline, lineage, disposal: null })).toEqual([
    ["Failed", null],
    ["Sent by R-1", "/replays/1"],
    ["Failed again: why", "/records/5"],
    ["d / 0 / 6", "/records/6"],
  ]);
});
