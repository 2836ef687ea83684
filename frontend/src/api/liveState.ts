import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { isStreaming, setStreaming } from "../lib/streaming";
import { API } from "./client";
import { HEALTH } from "./health";
import type { LiveState } from "./types";

/** The server ends a stream after a minute, and the browser opens it again. A longer gap means that it is away. */
const GAP_MS = 3_000;
/** The time until a stream that the server refused is opened again. */
const REOPEN_MS = 10_000;
/** The shortest time between two refreshes. */
const REFRESH_MS = 5_000;

/**
 * Refresh the followed queries when the server says that their data changed.
 * A hidden tab has no stream: browsers open only six connections to a server over HTTP/1.1.
 */
export function useLiveState(): void {
  const client = useQueryClient();
  useEffect(() => {
    const refresher = new Refresher(client);
    let stop: (() => void) | undefined;
    const followVisibility = () => {
      stop?.();
      stop = document.visibilityState === "visible" ? follow(client, refresher) : undefined;
    };
    followVisibility();
    document.addEventListener("visibilitychange", followVisibility);
    return () => {
      document.removeEventListener("visibilitychange", followVisibility);
      stop?.();
      refresher.stop();
    };
  }, [client]);
}

/** Refreshes followed queries, once for all changes within REFRESH_MS. */
class Refresher {
  private version: string | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private last = 0;

  constructor(private readonly client: QueryClient) {}

  /** Note the version of the data on the server; the screen already shows the first one. */
  note(version: string): void {
    if (this.version !== undefined && this.version !== version) this.refreshSoon();
    this.version = version;
  }

  refreshSoon(): void {
    this.timer ??= setTimeout(
      () => {
        this.timer = undefined;
        this.last = Date.now();
        void this.client.invalidateQueries({ predicate: (query) => query.meta?.followed === true });
      },
      Math.max(0, this.last + REFRESH_MS - Date.now()),
    );
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}

/** Open the stream, and open it again whenever it ends. Returns a function that closes it. */
function follow(client: QueryClient, refresher: Refresher): () => void {
  let source: EventSource;
  let gap: ReturnType<typeof setTimeout> | undefined;
  let reopening: ReturnType<typeof setTimeout> | undefined;

  function open(): void {
    source = new EventSource(`${API}/live`);
    source.addEventListener("open", () => {
      clearTimeout(gap);
      gap = undefined;
      setStreaming(true);
    });
    source.addEventListener("state", (event) => {
      const { health, version } = JSON.parse((event as MessageEvent<string>).data) as LiveState;
      client.setQueryData(HEALTH, health);
      refresher.note(version);
    });
    source.addEventListener("error", () => {
      gap ??= setTimeout(() => {
        if (!isStreaming()) return;
        setStreaming(false);
        refresher.refreshSoon(); // the queries learn why the stream ended, and take up their own intervals
      }, GAP_MS);
      if (source.readyState !== EventSource.CLOSED) return; // the browser tries again
      clearTimeout(reopening);
      reopening = setTimeout(open, REOPEN_MS);
    });
  }

  open();
  return () => {
    clearTimeout(gap);
    clearTimeout(reopening);
    source.close();
    setStreaming(false);
  };
}
