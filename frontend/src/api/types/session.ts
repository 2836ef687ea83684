/** Who is signed in, and what went wrong. */

export interface Session {
  authenticated: boolean;
  username: string | null;
  role: "viewer" | "operator" | null;
  /** An operator who may also agree to other people's replays. */
  approver?: boolean;
  environment: string;
  cluster: string;
  read_only: boolean;
  kafka: string | null;
}

export interface Problem {
  type?: string;
  title: string;
  status: number;
  detail?: string;
  instance?: string;
  errors?: { parameter: string; message: string }[];
  /** The faulty range of the parameter, in characters. */
  at?: { start: number; end: number };
}
