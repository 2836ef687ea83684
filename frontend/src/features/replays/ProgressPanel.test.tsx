import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act } from "react";
import { createRoot } from "react-dom/client";
import { expect, it } from "vitest";
import type { Replay, ReplaySeries } from "../../api/replayTypes";
import { ProgressPanel } from "./ProgressPanel";

const WIDTH = 600; // of a chart that is not measured
const COUNTS = {
  total: 100_000,
  planned: 0,
  queued: 0,
  sending: 0,
  waiting: 0,
  passed: 0,
  failed_again: 0,
  unknown: 0,
  skipped: 0,
};
const SERIES = { from: "2026-11-22T10:00:00Z", to: "2026-11-22T10:00:04Z", bucket_ms: 1000 };

/** Every text of the chart with where it stands, and where its lines end. */
async function drawn(replay: Partial<Replay>, series: Partial<ReplaySeries>) {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(["replay-series", "3"], { ...SERIES, ...series });
  const host = document.createElement("div");
  const root = createRoot(host);
  const shown = { id: 3, status: "watching", rate: 100, counts: COUNTS, ...replay } as Replay;
  await act(() =>
    root.render(
      <MantineProvider env="test">
        <QueryClientProvider client={client}>
          <ProgressPanel replay={shown} everyMs={1e9} />
        </QueryClientProvider>
      </MantineProvider>,
    ),
  );
  const number = (element: Element, name: string) => Number(element.getAttribute(name));
  const texts = [...host.querySelectorAll("text")].map((text) => ({
    words: text.textContent,
    x: number(text, "x"),
    y: number(text, "y"),
    anchor: text.getAttribute("text-anchor"),
  }));
  const ends = [...host.querySelectorAll("circle")].map((circle) => ({
    x: number(circle, "cx"),
    y: number(circle, "cy"),
  }));
  await act(() => root.unmount());
  return { texts, ends };
}

it("tells what is settled behind its line and inside the chart, when all are sent and when some are left", async () => {
  const some = { ...COUNTS, passed: 40_000, waiting: 60_000 };
  for (const counts of [some, { ...some, queued: 20, total: 100_020 }]) {
    const { texts, ends } = await drawn(
      { status: "running", counts },
      { sent: [20_000, 60_000, 90_000, 100_000], settled: [0, 0, 0, 40_000] },
    );
    const settled = texts.find(({ words }) => words === "40,000 settled");
    expect(settled?.anchor).toBeNull();
    expect(settled?.x).toBeGreaterThan(ends[1]!.x);
    expect(settled!.x + "40,000 settled".length * 6).toBeLessThanOrEqual(WIDTH);
  }
});

it("tells what is sent above its line, even where that is the top", async () => {
  const counts = { ...COUNTS, passed: 100_000 };
  const { texts, ends } = await drawn({ counts }, { sent: [100_000, 100_000], settled: [0, 100_000] });
  const sent = texts.find(({ words }) => words === "100,000 sent, 100,000 settled");
  expect(sent!.y).toBeLessThan(ends[0]!.y - 4);
  expect(sent!.y).toBeGreaterThan(11);
});

it("has room for the figures at its side", async () => {
  const { texts } = await drawn({}, { sent: [100_000], settled: [0] });
  const top = texts.find(({ words, anchor }) => words === "100,000" && anchor === "end");
  expect(top!.x).toBeGreaterThan(6 * "100,000".length);
});

it("agrees with the counts of the replay when the series is older than they are", async () => {
  const counts = { ...COUNTS, total: 366, passed: 360, failed_again: 6 };
  const { texts } = await drawn({ status: "done", counts }, { sent: [366, 366], settled: [0, 148] });
  expect(texts.map(({ words }) => words)).toContain("366 sent, 366 settled");
});
