import { QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { followed, isStreaming } from "../lib/streaming";
import { useLiveState } from "./liveState";

class FakeSource extends EventTarget {
  static readonly CLOSED = 2;
  static opened: FakeSource[] = [];
  readyState = 0;

  constructor(readonly url: string) {
    super();
    FakeSource.opened.push(this);
  }

  close() {
    this.readyState = FakeSource.CLOSED;
  }

  tell(version: string) {
    this.dispatchEvent(new Event("open"));
    this.dispatchEvent(new MessageEvent("state", { data: JSON.stringify({ health: {}, version }) }));
  }

  fail(refused: boolean) {
    if (refused) this.close();
    this.dispatchEvent(new Event("error"));
  }
}

let reads: number;
let root: Root;

function Screen() {
  useLiveState();
  useQuery({ queryKey: ["summary"], queryFn: () => Promise.resolve(++reads), ...followed(10_000) });
  return null;
}

async function pass(ms: number): Promise<void> {
  await act(() => vi.advanceTimersByTimeAsync(ms));
}

beforeEach(async () => {
  vi.stubGlobal("EventSource", FakeSource);
  FakeSource.opened = [];
  reads = 0;
  root = createRoot(document.createElement("div"));
  act(() =>
    root.render(
      <QueryClientProvider client={new QueryClient()}>
        <Screen />
      </QueryClientProvider>,
    ),
  );
  await pass(0);
});

afterEach(() => act(() => root.unmount()));

function source(): FakeSource {
  return FakeSource.opened.at(-1)!;
}

it("reads nothing while the version stays", async () => {
  source().tell("1");
  await pass(11_000); // the interval that began before the stream
  const before = reads;
  source().tell("1");
  await pass(60_000);
  expect(reads).toBe(before);
});

it("reads once for several changes within five seconds", async () => {
  source().tell("1");
  await pass(11_000);
  const before = reads;
  for (const version of ["2", "3", "4"]) {
    source().tell(version);
    await pass(100);
  }
  expect(reads).toBe(before + 1);
  source().tell("5");
  await pass(1_000);
  expect(reads).toBe(before + 1);
  await pass(4_000);
  expect(reads).toBe(before + 2);
});

it("takes up the intervals while the stream is away", async () => {
  source().tell("1");
  await pass(11_000);
  const before = reads;
  source().fail(true);
  await pass(3_100);
  expect(isStreaming()).toBe(false);
  expect(reads).toBe(before + 1);
  await pass(5_000);
  expect(FakeSource.opened).toHaveLength(1);
  await pass(5_100);
  expect(FakeSource.opened).toHaveLength(2);
  expect(reads).toBe(before + 2);
});

it("does not notice the end of a stream that opens again at once", async () => {
  source().tell("1");
  await pass(11_000);
  const before = reads;
  source().fail(false);
  await pass(1_000);
  source().tell("1");
  await pass(10_000);
  expect(isStreaming()).toBe(true);
  expect(reads).toBe(before);
});

it("has no stream while the tab is hidden", async () => {
  source().tell("1");
  vi.spyOn(document, "visibilityState", "get").mockReturnValue("hidden");
  document.dispatchEvent(new Event("visibilitychange"));
  expect(source().readyState).toBe(FakeSource.CLOSED);
  vi.spyOn(document, "visibilityState", "get").mockReturnValue("visible");
  document.dispatchEvent(new Event("visibilitychange"));
  expect(FakeSource.opened).toHaveLength(2);
});
