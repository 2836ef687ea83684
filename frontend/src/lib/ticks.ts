import { useState } from "react";

export interface Ticks {
  ticked: ReadonlySet<number>;
  /** Whether all matching rows are ticked, including those that are not loaded. */
  all: boolean;
  tick: (id: number, range: boolean) => void;
  takeAll: () => void;
  /** Tick exactly these. */
  take: (ids: readonly number[]) => void;
  clear: () => void;
}

interface State {
  query: string;
  ticked: ReadonlySet<number>;
  all: boolean;
  last: number | null;
}

/** Keep the ticked rows of a query; a new query starts with none. */
export function useTicks(query: string, rows: readonly { id: number }[]): Ticks {
  const none: State = { query, ticked: new Set(), all: false, last: null };
  const [kept, setState] = useState<State>(none);
  const state = kept.query === query ? kept : none;
  const tick = (id: number, range: boolean) => {
    const ticked = new Set(state.ticked);
    const [from, to] = [rows.findIndex((row) => row.id === state.last), rows.findIndex((row) => row.id === id)];
    if (range && from >= 0)
      for (const row of rows.slice(Math.min(from, to), Math.max(from, to) + 1)) ticked.add(row.id);
    else if (!ticked.delete(id)) ticked.add(id);
    setState({ query, ticked, all: false, last: id });
  };
  return {
    ticked: state.ticked,
    all: state.all,
    tick,
    takeAll: () => setState({ ...state, all: true }),
    take: (ids) => setState({ query, ticked: new Set(ids), all: false, last: null }),
    clear: () => setState(none),
  };
}
