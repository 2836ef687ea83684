/** The API's documents of fixes, selections and replays, under the names that the screens use. */
import type {
  CheckDocument,
  ConsumerGroupDocument,
  FixBodyRequest,
  ItemDocument,
  ReplayDocument,
  ReplaySaid,
  ReplaySummary,
  SelectionDetail,
  SelectionDocument,
} from "./schema";

export type {
  ApprovalDocument as Approval,
  BytesDocument as Bytes,
  CanaryDocument as Canary,
  Coordinates,
  DraftDocument as Draft,
  EarlierOutcome,
  FixDocument as FixPage,
  FixList,
  ItemDocument as Item,
  ItemPage,
  LetterDocument as LetterRef,
  LogDocument as ReplayLog,
  MessageDocument as Message,
  OutcomeInGroup,
  PlanDocument as Plan,
  ResolvableGroup,
  SentAndSettled as ReplaySeries,
  UnfinishedBodyRequest as UnfinishedBody,
  UnfinishedRecords as Unfinished,
  RecordField,
  RecordFieldList,
  WayDocument as LetterReplays,
} from "./schema";

export type FixBody = FixBodyRequest;
export type TargetGroup = ConsumerGroupDocument;
export type ReplayStatus = ReplaySummary["status"];
export type ItemState = ItemDocument["state"];
export type CheckLevel = CheckDocument["level"];
export type OrderGuard = ReplaySummary["order"];
export type Selection = SelectionDocument & Partial<SelectionDetail>;
/** A replay. Lists leave the plan out; only the answer to an action has `said`. */
export type Replay = ReplaySummary & Partial<ReplayDocument> & Partial<Pick<ReplaySaid, "said">>;
export interface ReplayPage {
  results: Replay[];
  next: string | null;
}
/** Options that most people leave at their defaults. */
export type AdvancedReplayOptions = Pick<
  Replay,
  "target_cluster" | "shadow" | "keep_timestamps" | "order" | "steps" | "breaker_percent" | "max_lag" | "resolve_groups"
>;
export type ReplayOptions = Partial<AdvancedReplayOptions> &
  Pick<Replay, "target_topic" | "use_fixes" | "resend" | "rate">;
