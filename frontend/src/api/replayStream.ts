import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { eventsUrl, mergedReplay } from "./replays";
import type { Replay } from "./replayTypes";

const RECONNECT_MS = 10_000; // the browser reconnects by itself unless the server refused

/** The state of the event stream; `heardAt` is the time of the last event or connection. */
export interface StreamState {
  streaming: boolean;
  heardAt: number;
}

/** Update a replay's document from the server's events while `wanted`. */
export function useReplayStream(id: string, wanted: boolean): StreamState {
  const client = useQueryClient();
  const [round, setRound] = useState(0);
  const [live, setLive] = useState<StreamState>(() => ({ streaming: false, heardAt: Date.now() }));
  useEffect(() => {
    if (!wanted) return;
    const source = new EventSource(eventsUrl(id));
    const heard = () => setLive({ streaming: true, heardAt: Date.now() });
    source.addEventListener("open", heard);
    source.addEventListener("replay", (event) => {
      const next = JSON.parse((event as MessageEvent<string>).data) as Replay;
      client.setQueryData<Replay>(["replay", id], (old) => mergedReplay(old, next));
      heard();
    });
    let timer: ReturnType<typeof setTimeout> | undefined;
    source.addEventListener("error", () => {
      setLive((old) => ({ ...old, streaming: false }));
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(() => setRound(round + 1), RECONNECT_MS);
    });
    return () => {
      clearTimeout(timer);
      source.close();
    };
  }, [client, id, wanted, round]);
  return live;
}
