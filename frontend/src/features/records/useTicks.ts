import { useState } from "react";
import type { DeadLetterRow } from "../../api/types";

export interface Ticks {
  ticked: ReadonlySet<number>;
  /** Whether all that match are meant, loaded or not. */
  all: boolean;
  tick: (id: number, range: boolean) => void;
  takeAll: () => void;
  clear: () => void;
}

interface State {
  query: string;
  ticked: ReadonlySet<number>;
  all: boolean;
  last: number | null;
}

/** The ticked rows of one filter; another filter begins with none. */
export function useTicks(query: string, rows: readonly DeadLetterRow[]): Ticks {
  const none: State = { query, ticked: new Set(), all: false, last: null };
  const [kept, setState] = useState<State>(none);
  const state = kept.query === query ? kept : none;
  const tick = (id: number, range: boolean) => {
    const ticked = new Set(state.ticked);
    const [from, to] = [rows.findIndex((row) => row.id === state.last), rows.findIndex((row) => row.id === id)];
    if (range && from >= 0) for (const row of rows.slice(Math.min(from, to), Math.max(from, to) + 1)) ticked.add(row.id);
    else if (!ticked.delete(id)) ticked.add(id);
    setState({ query, ticked, all: false, last: id });
  };
  return {
    ticked: state.ticked,
    all: state.all,
    tick,
    takeAll: () => setState({ ...state, all: true }),
    clear: () => setState(none),
  };
}
