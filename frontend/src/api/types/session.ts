/** Who is signed in, and what went wrong. */

export interface Session {
  authenticated: boolean;
  username: string | null;
  role: "viewer" | "operator" | null;
  /** An operator who may also agree to other people's replays. */
  approver?: boolean;
  /** The rights that the role stands for, and further ones. */
  rights?: string[];
  /** Why the last session ended by itself. */
  ended?: string | null;
  /** Whether keys, values and header values of records are shown. */
  payload_reader?: boolean;
  environment: string;
  cluster: string;
  read_only: boolean;
  kafka: string | null;
}

export interface Problem {
  type?: string;
  title: string;
  status: number;
  /** A name for programs. */
  code?: string;
  detail?: string;
  instance?: string;
  errors?: { parameter: string; message: string }[];
  /** The faulty range of the parameter, in characters. */
  at?: { start: number; end: number };
}
