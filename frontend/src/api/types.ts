/** What the REST API under /api/v1 sends; times are ISO 8601 in UTC. */
export type * from "./types/audit";
export type * from "./types/connectors";
export type * from "./types/deadLetters";
export type * from "./types/groups";
export type * from "./types/health";
export type * from "./types/metrics";
export type * from "./types/session";
