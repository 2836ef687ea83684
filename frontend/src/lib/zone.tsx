import { createContext, useContext, useEffect, useMemo, useState, type ReactNode } from "react";
import type { Zone } from "./format";

interface ZoneState {
  zone: Zone;
  setZone: (zone: Zone) => void;
}

const Context = createContext<ZoneState>({ zone: "utc", setZone: () => undefined });
const STORAGE_KEY = "dlqadmin.zone";

export function ZoneProvider({ children }: { children: ReactNode }) {
  const [zone, set] = useState<Zone>(() => (localStorage.getItem(STORAGE_KEY) === "local" ? "local" : "utc"));
  const state = useMemo(
    () => ({
      zone,
      setZone: (next: Zone) => {
        localStorage.setItem(STORAGE_KEY, next);
        set(next);
      },
    }),
    [zone],
  );
  return <Context value={state}>{children}</Context>;
}

/** Return the time zone for displayed times, and its setter. */
export function useZone(): ZoneState {
  return useContext(Context);
}

/** Return the current time in milliseconds, updated every `everyMs`. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
