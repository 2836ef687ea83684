import { isPersonActive } from "../lib/activity";
import { noteNoResponse, noteResponse } from "../lib/serverState";
import type { Problem } from "./types";

export const API = "/api/v1";

/** A failed API response; `problem` is its RFC 9457 body, `retryAfterS` the seconds to wait. */
export class ApiError extends Error {
  readonly problem: Problem;
  readonly retryAfterS: number | undefined;

  constructor(problem: Problem, retryAfterS?: number) {
    super(problem.detail ?? problem.title);
    this.problem = problem;
    this.retryAfterS = retryAfterS;
  }

  get status(): number {
    return this.problem.status;
  }
}

export function get<T>(path: string, params?: URLSearchParams, signal?: AbortSignal): Promise<T> {
  const query = params?.toString();
  return request<T>("GET", query ? `${path}?${query}` : path, undefined, signal);
}

/** Send a request; with an idempotency `key` the server runs repeated requests once. */
export function send<T>(
  method: "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  body?: unknown,
  key?: string,
): Promise<T> {
  return request<T>(method, path, body, undefined, key);
}

/** Send a file without changing it. */
export function sendFile<T>(path: string, file: Blob, type: string, key: string): Promise<T> {
  return request<T>("POST", path, file, undefined, key, type);
}

async function request<T>(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
  key?: string,
  type = "application/json",
): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = type;
  if (key !== undefined) headers["Idempotency-Key"] = key;
  if (isPersonActive()) headers["X-User-Active"] = "1"; // only active requests extend the session
  if (method !== "GET") headers["X-CSRFToken"] = cookie("csrftoken");
  const response = await fetch(`${API}/${path}`, {
    method,
    headers,
    credentials: "same-origin",
    body: body === undefined ? null : body instanceof Blob ? body : JSON.stringify(body),
    signal: signal ?? null,
  }).catch((error: unknown) => {
    if (signal?.aborted && !isTimeout(signal.reason)) throw error;
    noteNoResponse();
    throw new ApiError({ title: "The server cannot be reached", status: 0, detail: "The server cannot be reached." });
  });
  noteResponse(response);
  if (!response.ok)
    throw new ApiError(await problemOf(response), Number(response.headers.get("Retry-After")) || undefined);
  const text = await response.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === "TimeoutError";
}

async function problemOf(response: Response): Promise<Problem> {
  const fallback = { title: `The server answered ${response.status}`, status: response.status };
  try {
    return { ...fallback, ...((await response.json()) as Problem) };
  } catch {
    return fallback;
  }
}

function cookie(name: string): string {
  const found = document.cookie.split("; ").find((pair) => pair.startsWith(`${name}=`));
  return found ? decodeURIComponent(found.slice(name.length + 1)) : "";
}
