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
  }[];
  next: string | null;
}
