import { useSyncExternalStore } from "react";

/** The header of each API response that names the build of the frontend on the server. */
const BUILD_HEADER = "X-Frontend-Build";
/** A proxy answers with these statuses if the server behind it is away. */
const GATEWAY_ERRORS = new Set([502, 504]);
const RELOADED_FOR = "dlqadmin.reloaded-for-build";
const ENTRY_SCRIPT = /\/assets\/([\w-]+)\.js$/;

export interface ServerState {
  /** The time of the first request without a response; null while the server responds. */
  unreachableSince: number | null;
  /** True after the server named another build than the one in this tab. */
  hasNewBuild: boolean;
}

let state: ServerState = { unreachableSince: null, hasNewBuild: false };
const listeners = new Set<() => void>();

/** Record that a request got no response. */
export function noteNoResponse(): void {
  change({ unreachableSince: state.unreachableSince ?? Date.now() });
}

/** Record a response: the server is reachable, and runs the build that the response names. */
export function noteResponse(response: Response): void {
  if (GATEWAY_ERRORS.has(response.status)) return noteNoResponse();
  const build = response.headers.get(BUILD_HEADER);
  change({ unreachableSince: null, hasNewBuild: isOtherBuild(build) });
}

/**
 * Reload the page if the server has another build, whose page names the chunks that the server still has.
 * Once per build: behind a cache with an old page, a second reload would not help either.
 */
export async function reloadForNewBuild(): Promise<void> {
  const response = await fetch("/api/v1/alive", { cache: "no-store" });
  const build = response.headers.get(BUILD_HEADER);
  if (build === null || !isOtherBuild(build) || sessionStorage.getItem(RELOADED_FOR) === build) return;
  sessionStorage.setItem(RELOADED_FOR, build);
  window.location.reload();
}

export function useServerState(): ServerState {
  return useSyncExternalStore(subscribe, () => state);
}

function isOtherBuild(build: string | null): boolean {
  const own = ownBuild();
  return build !== null && own !== undefined && build !== own;
}

/** Return the build of this tab: the name of its entry script, which contains a hash. Undefined in development. */
function ownBuild(): string | undefined {
  const script = document.querySelector<HTMLScriptElement>('script[type="module"][src]');
  return script ? ENTRY_SCRIPT.exec(script.src)?.[1] : undefined;
}

function change(next: Partial<ServerState>): void {
  const changed = { ...state, ...next };
  if (changed.unreachableSince === state.unreachableSince && changed.hasNewBuild === state.hasNewBuild) return;
  state = changed;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
