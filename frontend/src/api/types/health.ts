/** How every part is. */

export interface Behind {
  records_behind: number | null;
  seconds_behind: number | null;
}

export interface Health {
  status: "ok" | "degraded";
  index: Behind & { topics: unknown[]; text?: Behind };
  broker: { reachable: boolean; brokers: number | null };
  engine: { reachable: boolean; workers: number | null };
  redis: { reachable: boolean };
  database: { vendor: string };
}
