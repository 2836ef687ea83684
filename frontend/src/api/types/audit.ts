/** Who did what. */

export interface AuditPage {
  results: {
    id: string | number;
    at: string;
    actor: string;
    action: string;
    object: string;
    detail: unknown;
    digest: string | null;
    /** Its number in the chain; null until it is sealed. */
    seq: number | null;
    seal: string;
    /** Where the request came from; null for a process. */
    address: string | null;
  }[];
  next: string | null;
}
