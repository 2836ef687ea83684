/** The API's documents under the names that the screens use. `schema.ts` describes them; times are ISO 8601 in UTC. */
import type {
  Balance,
  DeadLetterRow,
  ErrorBudgetDocument,
  GroupDocument,
  Health as HealthDocument,
  Problem as FullProblem,
  StageFigures,
} from "./schema";

export type {
  AnnotationDocument as Annotation,
  AnnotationList,
  AttentionItems as Attention,
  AttentionItem,
  AttemptDocument as Attempt,
  Balance,
  CauseDocument as Cause,
  ConnectClusterDocument as ConnectCluster,
  ConnectorDocument as Connector,
  ConnectorEntry,
  ConnectorHistory,
  ConnectorList,
  CommonDocument as Common,
  DeadLetterDetail as DeadLetter,
  DeadLetterPage,
  DeadLetterRow,
  DismissalDocument as Dismissal,
  ErrorLimit as Limit,
  ErrorSeries,
  ErrorsOverTime as Errors,
  EndangeredTask as NearTask,
  ErrorBudgetDocument as Nearness,
  ExceptionDocument as ExceptionView,
  FacetValue,
  FacetsDocument as Facets,
  FingerprintDocument as Fingerprint,
  FrameDocument as Frame,
  GroupDetail,
  GroupDocument as Group,
  GroupLink as GroupRef,
  GroupPage,
  HeaderDocument as Header,
  Health,
  Heatmap as Heat,
  HistogramDocument as TimeSeries,
  HistogramSeries as Series,
  JsonFault as ParseError,
  MuteDocument as Mute,
  NamedText,
  OpenWork,
  OriginNeighbour as Neighbour,
  OriginNeighbours as Neighbours,
  PayloadDocument as Payload,
  RegroupingDocument as Regrouping,
  SessionCluster,
  SessionDocument as Session,
  StageCounts,
  ShownState,
  ReadingNote,
  StageDocument as StageView,
  StatusStrip,
  Trends,
  ConnectorPipeline as StageFlow,
  SummaryDocument as Summary,
  TaskDocument as Task,
  TextHealth as Behind,
  TopicDetail,
  TopicList,
  TopicRates,
  TopicRecord,
  TopicRecordDetail,
  TopicRecords,
} from "./schema";

export type GroupState = GroupDocument["state"];
export type ReplayState = DeadLetterRow["replay_state"];
export type RecordCounts = Omit<Balance, "as_of" | "connectors">;
export type Risk = ErrorBudgetDocument["risk"];
export type StageFlowRow = StageFigures;
/** A problem document (RFC 9457). A response that is not from the API may lack all but title and status. */
export type Problem = Pick<FullProblem, "title" | "status"> & Partial<FullProblem>;
/** The data of a live event. It is no JSON response, so the schema does not describe it. */
export interface LiveState {
  health: HealthDocument;
  version: string;
}
