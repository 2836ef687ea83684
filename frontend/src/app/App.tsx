import { MantineProvider, createTheme } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { Suspense, lazy, useState, type ReactNode } from "react";
import { BrowserRouter, Navigate, Route, Routes, useLocation } from "react-router";
import { ApiError } from "../api/client";
import { useLiveState } from "../api/liveState";
import { SESSION, SESSION_ENDED, SIGN_OUT, useSession } from "../api/session";
import type { Session } from "../api/types";
import { Overview } from "../features/overview/Overview";
import { SignIn } from "../features/signin/SignIn";
import { ZoneProvider } from "../lib/zone";
import { LoadError } from "../ui/LoadError";
import { ErrorBoundary } from "../ui/ErrorBoundary";
import { SkeletonRows, Panel } from "../ui/Panel";
import { Shell } from "./Shell";

const Trends = lazy(() => import("../features/trends/Trends").then((module) => ({ default: module.Trends })));
const Groups = lazy(() => import("../features/groups/Groups").then((module) => ({ default: module.Groups })));
const Records = lazy(() => import("../features/records/Records").then((module) => ({ default: module.Records })));
const Record = lazy(() => import("../features/record/Record").then((module) => ({ default: module.Record })));
const Fix = lazy(() => import("../features/fix/Fix").then((module) => ({ default: module.Fix })));
const BulkFix = lazy(() => import("../features/bulkfix/BulkFix").then((module) => ({ default: module.BulkFix })));
const BulkJob = lazy(() => import("../features/bulkfix/BulkJob").then((module) => ({ default: module.BulkJob })));
const Fixes = lazy(() => import("../features/bulkfix/Fixes").then((module) => ({ default: module.Fixes })));
const Replays = lazy(() => import("../features/replays/Replays").then((module) => ({ default: module.Replays })));
const NewReplay = lazy(() => import("../features/replays/NewReplay").then((module) => ({ default: module.NewReplay })));
const ReplayDetail = lazy(() =>
  import("../features/replays/ReplayDetail").then((module) => ({ default: module.ReplayDetail })),
);
const Connectors = lazy(() =>
  import("../features/connectors/Connectors").then((module) => ({ default: module.Connectors })),
);
const ConnectorEditor = lazy(() =>
  import("../features/connectors/ConnectorEditor").then((module) => ({ default: module.ConnectorEditor })),
);
const Topics = lazy(() => import("../features/topics/Topics").then((module) => ({ default: module.Topics })));
const Topic = lazy(() => import("../features/topics/Topic").then((module) => ({ default: module.Topic })));
const Exports = lazy(() => import("../features/exports/Exports").then((module) => ({ default: module.Exports })));
const Dialects = lazy(() => import("../features/dialects/Dialects").then((module) => ({ default: module.Dialects })));
const MappingEditor = lazy(() =>
  import("../features/dialects/MappingEditor").then((module) => ({ default: module.MappingEditor })),
);
const Clusters = lazy(() => import("../features/settings/Clusters").then((module) => ({ default: module.Clusters })));
const Masking = lazy(() => import("../features/settings/Masking").then((module) => ({ default: module.Masking })));
const Registries = lazy(() =>
  import("../features/settings/Registries").then((module) => ({ default: module.Registries })),
);
const People = lazy(() => import("../features/people/People").then((module) => ({ default: module.People })));
const Invitation = lazy(() =>
  import("../features/invitation/Invitation").then((module) => ({ default: module.Invitation })),
);
const Ownership = lazy(() =>
  import("../features/settings/Ownership").then((module) => ({ default: module.Ownership })),
);
const Mentions = lazy(() => import("../features/mentions/Mentions").then((module) => ({ default: module.Mentions })));
const Erase = lazy(() => import("../features/settings/Erase").then((module) => ({ default: module.Erase })));
const Channels = lazy(() => import("../features/settings/Channels").then((module) => ({ default: module.Channels })));
const Alerts = lazy(() => import("../features/alerts/Alerts").then((module) => ({ default: module.Alerts })));
const AlertDetail = lazy(() =>
  import("../features/alerts/AlertDetail").then((module) => ({ default: module.AlertDetail })),
);
const Audit = lazy(() => import("../features/audit/Audit").then((module) => ({ default: module.Audit })));

const Profile = lazy(() => import("../features/account/Profile").then((module) => ({ default: module.Profile })));
const NotFound = lazy(() => import("./NotFound").then((module) => ({ default: module.NotFound })));

const theme = createTheme({
  primaryColor: "blue",
  defaultRadius: 6,
  fontFamily: "var(--sans)",
  fontFamilyMonospace: "var(--mono)",
  fontSizes: { xs: "11px", sm: "12px", md: "13px", lg: "14px", xl: "16px" },
  // The head of a dialog is a <header>, and so a second banner of the page for screen readers.
  components: {
    ModalHeader: { defaultProps: { role: "presentation" } },
    // Two pixels less than the small text of everything else, unless it is set here.
    InputDescription: { styles: { description: { fontSize: "11.5px", lineHeight: "16px" } } },
  },
});

export function App() {
  const [client] = useState(makeClient);
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto">
      <QueryClientProvider client={client}>
        <ZoneProvider>
          <BrowserRouter>
            <RootBoundary>
              <Suspense fallback={<SkeletonRows rows={3} />}>
                <Routes>
                  <Route path="/invitation/:token" element={<Invitation />} />
                  <Route path="*" element={<SessionGate />} />
                </Routes>
              </Suspense>
            </RootBoundary>
          </BrowserRouter>
        </ZoneProvider>
      </QueryClientProvider>
    </MantineProvider>
  );
}

/** Catches errors of the shell itself. Errors of one screen are caught inside the shell. */
function RootBoundary({ children }: { children: ReactNode }) {
  return <ErrorBoundary resetKey={useLocation().pathname}>{children}</ErrorBoundary>;
}

function SessionGate() {
  const session = useSession();
  if (session.isPending) return <SkeletonRows rows={3} />;
  if (session.isError && !session.data && !isSignedOut(session.error)) {
    return (
      <LoadError title="The dashboard does not respond" error={session.error} onAgain={() => void session.refetch()} />
    );
  }
  if (!session.data?.authenticated) return <SignIn />;
  return (
    <Shell session={session.data}>
      <LiveUpdates />
      <Suspense
        fallback={
          <Panel>
            <SkeletonRows rows={8} />
          </Panel>
        }
      >
        <Routes>
          <Route path="/" element={<Overview />} />
          <Route path="/trends" element={<Trends />} />
          <Route path="/groups" element={<Groups />} />
          <Route path="/groups/:id" element={<Groups />} />
          <Route path="/records" element={<Records />} />
          <Route path="/records/:id" element={<Record />} />
          <Route path="/records/:id/fix" element={<Fix />} />
          <Route path="/fixes" element={<Fixes />} />
          <Route path="/bulk-fixes/new" element={<BulkFix />} />
          <Route path="/bulk-fixes/:id" element={<BulkJob />} />
          <Route path="/replays" element={<Replays />} />
          <Route path="/replays/new" element={<NewReplay />} />
          <Route path="/replays/:id" element={<ReplayDetail />} />
          <Route path="/connectors" element={<Connectors />} />
          <Route path="/connectors/:name" element={<Connectors />} />
          <Route path="/connectors/:cluster/:name" element={<Connectors />} />
          <Route path="/connectors/:cluster/:name/edit" element={<ConnectorEditor />} />
          <Route path="/new-connector" element={<ConnectorEditor />} />
          <Route path="/alerts" element={<Alerts />} />
          <Route path="/alerts/rules/:id" element={<Alerts />} />
          <Route path="/alerts/firings/:id" element={<AlertDetail />} />
          <Route path="/topics" element={<Topics />} />
          <Route path="/topics/:name" element={<Topic />} />
          <Route path="/exports" element={<Exports />} />
          <Route path="/audit" element={<Audit />} />
          <Route path="/profile" element={<Profile />} />
          <Route path="/settings/clusters" element={<Clusters />} />
          <Route path="/settings/dialects" element={<Dialects />} />
          <Route path="/settings/dialects/new" element={<MappingEditor />} />
          <Route path="/settings/dialects/:name" element={<MappingEditor />} />
          <Route path="/settings/registries" element={<Registries />} />
          <Route path="/settings/people" element={<People />} />
          <Route path="/settings/ownership" element={<Ownership />} />
          <Route path="/mentions" element={<Mentions />} />
          <Route path="/settings/erase" element={<Erase />} />
          <Route path="/settings/channels" element={<Channels />} />
          <Route path="/settings/masking" element={<Masking />} />
          <Route path="/settings" element={<Navigate to="/settings/clusters" replace />} />
          <Route path="/overview" element={<Navigate to="/" replace />} />
          <Route path="*" element={<NotFound />} />
        </Routes>
      </Suspense>
    </Shell>
  );
}

function LiveUpdates() {
  useLiveState();
  return null;
}

function makeClient(): QueryClient {
  const client: QueryClient = new QueryClient({
    defaultOptions: {
      queries: {
        retry: (failures, error) =>
          failures < 2 && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
        refetchOnWindowFocus: false,
        staleTime: 5_000,
      },
    },
  });
  client.getQueryCache().subscribe((event) => {
    const signedOut = event.type === "updated" && event.action.type === "error" && isSignedOut(event.action.error);
    if (signedOut && event.query.queryKey[0] !== "session") void endSession(client);
  });
  return client;
}

/** Check once, after any number of refused requests, whether the session ended; the sign-in form then says so. */
async function endSession(client: QueryClient): Promise<void> {
  if (client.isMutating({ mutationKey: SIGN_OUT }) > 0) return;
  await client.invalidateQueries({ queryKey: SESSION }, { cancelRefetch: false });
  if (!client.getQueryData<Session>(SESSION)?.authenticated) {
    client.setQueryData(SESSION_ENDED, true);
    client.removeQueries({
      predicate: ({ queryKey }) => queryKey[0] !== SESSION[0] && queryKey[0] !== SESSION_ENDED[0],
    }); // the next user may have fewer permissions
  }
}

function isSignedOut(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 401 || error.status === 403);
}
