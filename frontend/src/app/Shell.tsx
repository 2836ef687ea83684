import { useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { Suspense, lazy, useState, type ReactNode } from "react";
import { Link, NavLink, useLocation, useNavigate } from "react-router";
import { useAlertRules } from "../api/alerts";
import { useFollowedTotal } from "../api/deadLetters";
import { useGroupCounts } from "../api/groups";
import { useHealth } from "../api/health";
import { useMentions } from "../api/ownership";
import { roleName } from "../api/session";
import { clusterName, connectorLabel } from "../lib/connectors";
import { useServerState } from "../lib/serverState";
import type { Session } from "../api/types";
import { apiQuery, clusterOf } from "../lib/filter";
import { clock, count, plural } from "../lib/format";
import { useKeys } from "../lib/keys";
import { bulkFixName, replayName } from "../lib/naming";
import { inSpan, readSpan, withSpan, type Span } from "../lib/span";
import { useNow, useZone } from "../lib/zone";
import { Choice } from "../ui/controls";
import { DisposalToast } from "../features/disposals/DisposalToast";
import { SETTINGS_SECTIONS } from "../features/settings/sections";
import { ClusterBanner } from "../features/clusters/ClusterMark";
import { ErrorBoundary } from "../ui/ErrorBoundary";
import { Glyph, join } from "../ui/Panel";
import { Logo } from "../ui/Logo";
import { AccountButton } from "./AccountButton";
import { Icon, type IconName } from "./icons";
import { SCREENS } from "./screens";
import { hasShortcut } from "./shortcuts";
import styles from "./Shell.module.css";
import { StatusBanner, isIndexBehind, secondsBehind } from "./StatusBanner";

// Menus and dialogs are loaded when they are opened, so that the first screen is small.
const AccountMenu = lazy(() => import("./AccountMenu").then((module) => ({ default: module.AccountMenu })));
const KeyboardHelp = lazy(() => import("./KeyboardHelp").then((module) => ({ default: module.KeyboardHelp })));
const CommandPalette = lazy(() => import("./CommandPalette").then((module) => ({ default: module.CommandPalette })));

const POLL_MS = 15_000;
const MOD = /Mac|iP(hone|ad)/.test(navigator.userAgent) ? "⌘" : "Ctrl";

export function Shell({ session, children }: { session: Session; children: ReactNode }) {
  const [opened, setOpened] = useState<"keys" | "palette" | null>(null);
  const navigate = useNavigate();
  const { pathname } = useLocation();
  const span = useNavigationSpan();
  const close = () => setOpened(null);
  const openPalette = (event?: KeyboardEvent) => (event?.preventDefault(), setOpened("palette"));
  useKeys({
    "?": () => setOpened("keys"),
    "Mod+k": openPalette,
    ...(hasShortcut(pathname, "/") ? {} : { "/": openPalette }),
    ...Object.fromEntries(SCREENS.map(({ key, to }) => [`g ${key}`, () => void navigate(addressOf(to, span))])),
  });
  return (
    <>
      <a href="#main" className={styles.skip}>
        Skip to the content
      </a>
      <EnvironmentBanner session={session} />
      <div className={styles.app}>
        <Navigation span={span} />
        <div style={{ minWidth: 0 }}>
          <TopBar session={session} onHelp={() => setOpened("keys")} onFind={() => setOpened("palette")} />
          <main className={styles.main} id="main" tabIndex={-1}>
            <StatusBanner />
            <ScreenCluster />
            <ErrorBoundary resetKey={pathname}>{children}</ErrorBoundary>
          </main>
        </div>
      </div>
      <DisposalToast />
      {opened === "keys" && (
        <Suspense>
          <KeyboardHelp onClose={close} />
        </Suspense>
      )}
      {opened === "palette" && (
        <Suspense>
          <CommandPalette onClose={close} />
        </Suspense>
      )}
    </>
  );
}

function EnvironmentBanner({ session }: { session: Session }) {
  const { data: health } = useHealth();
  return (
    <header className={join(styles.environment, session.environment === "LOCAL" && styles.local)}>
      <b>{session.environment}</b>
      <span>{session.cluster}</span>
      {health && (
        <span className={styles.wideOnly}>
          {health.broker.reachable ? `Kafka, ${plural(health.broker.brokers ?? 0, "broker")}` : "Kafka not reachable"}
        </span>
      )}
      <span className={styles.wideOnly}>{session.read_only ? "read-only" : "writes allowed"}</span>
      <span className="sp" />
      <span>
        You are <span className={styles.role}>{roleName(session)}</span>
      </span>
    </header>
  );
}

/** The cluster to which the address limits the screen. The page of a record names its own. */
function ScreenCluster() {
  const { pathname, search } = useLocation();
  if (/^\/records\/\d/.test(pathname)) return null;
  return <ClusterBanner name={clusterOf(new URLSearchParams(search))} />;
}

function Navigation({ span }: { span: Span }) {
  const time = apiQuery({ clauses: [], from: span.from, to: span.to });
  const groups = useGroupCounts(`status=unresolved&limit=1&${time}`, POLL_MS);
  const records = useFollowedTotal(time, POLL_MS);
  const firing = useAlertRules(POLL_MS).data?.counts.firing;
  const notes: Record<string, string | undefined> = {
    "/alerts": firing ? count(firing) : undefined,
    "/groups": groups.data && count(groups.data.counts.unresolved ?? 0),
    "/records": records.data && `${count(records.data.count)}${records.data.exact ? "" : "+"}`,
  };
  return (
    <nav className={styles.nav} aria-label="Screens">
      <Link to="/" className={styles.brand} aria-label="dlqadmin, overview">
        <Logo />
        <span>dlqadmin</span>
      </Link>
      {SCREENS.map(({ to, label, icon }) => (
        <NavigationLink key={to} to={addressOf(to, span)} icon={icon} label={label} note={notes[to]} />
      ))}
      <IndexHealth />
    </nav>
  );
}

/** Return the time range for navigation links: that of the overview or the groups page, elsewhere the default. */
function useNavigationSpan(): Span {
  const { pathname, search } = useLocation();
  return readSpan(new URLSearchParams(/^\/(groups(\/|$)|$)/.test(pathname) ? search : ""));
}

function addressOf(screen: string, span: Span): string {
  if (screen === "/records") return inSpan(screen, span);
  return screen === "/" || screen === "/groups" || screen === "/trends" ? withSpan(screen, span) : screen;
}

function NavigationLink({
  to,
  icon,
  label,
  note,
}: {
  to: string;
  icon: IconName;
  label: string;
  note: string | undefined;
}) {
  return (
    <NavLink
      to={to}
      end={to.split("?")[0] === "/"}
      className={({ isActive }) => join(styles.link, isActive && styles.active)}
      title={label}
    >
      <Icon name={icon} />
      <span>{label}</span>
      {note && <i>{note}</i>}
    </NavLink>
  );
}

function IndexHealth() {
  const { data, error, isError } = useHealth();
  const { unreachableSince } = useServerState();
  if (unreachableSince !== null || isError || !data) {
    return (
      <div className={styles.indexHealth}>
        {unreachableSince !== null || isError ? (
          <div className="row" style={{ gap: 6 }}>
            <Glyph tone="unknown">?</Glyph>
            <span className={styles.words}>
              {unreachableSince !== null
                ? "Health is unknown: the server does not respond"
                : `Health is unknown: ${error?.message ?? "the server answered with an error"}`}
            </span>
          </div>
        ) : null}
      </div>
    );
  }
  const { index, broker, connect, status, reasons } = data;
  const known = broker.reachable && index.records_behind !== null;
  const current = known && !isIndexBehind(data) && data.indexers.every(({ alive }) => alive !== false);
  const seconds = index.seconds_behind === null ? "" : `, ${secondsBehind(index.seconds_behind)} behind`;
  return (
    <div className={styles.indexHealth}>
      <div className="row" style={{ gap: 6 }}>
        <Glyph tone={current ? "passed" : "warn"}>{current ? "✓" : "!"}</Glyph>
        <span className={styles.words}>
          {current ? "Index up to date" : isIndexBehind(data) ? "Index behind" : "Index may be behind"}
        </span>
      </div>
      <div className={styles.words}>
        {known ? `${plural(index.records_behind ?? 0, "record")}${seconds}` : "Kafka does not respond"}
      </div>
      {reasons.length > 0 && (
        <div
          className={join(styles.words, status === "failing" ? "failed" : "warn")}
          title={reasons.join("\n")}
          data-testid="health-reason"
        >
          {reasons[0]}
          {reasons.length > 1 && ` And ${count(reasons.length - 1)} more.`}
        </div>
      )}
      <div className={join(styles.words, !broker.reachable && "failed")}>
        {broker.reachable ? plural(broker.brokers ?? 0, "broker") : "Broker not reachable"}
      </div>
      {connect.map(({ name, reachable, workers }) => (
        <div key={name} className={join(styles.words, !reachable && "failed")}>
          {clusterName(name)}
          {reachable ? `, ${plural(workers, "worker")}` : " not reachable"}
        </div>
      ))}
    </div>
  );
}

function TopBar({ session, onHelp, onFind }: { session: Session; onHelp: () => void; onFind: () => void }) {
  const { zone, setZone } = useZone();
  const now = useNow(1000);
  const [menuWanted, setMenuWanted] = useState(false);
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme("light", { getInitialValueInEffect: false });
  const other = scheme === "dark" ? "light" : "dark";
  const name = session.username ?? "";
  const unseen = useMentions().data?.unseen ?? 0;
  return (
    <section className={styles.top} aria-label="Tools">
      <Breadcrumbs />
      <span className="sp" />
      <button type="button" className={styles.searchButton} onClick={onFind}>
        <Icon name="find" />
        <span>Go to a name, or topic/partition/offset</span>
        <kbd aria-hidden="true">{MOD} K</kbd>
      </button>
      <span className={join("mono t2", styles.wideOnly)}>{clock(now, zone)}</span>
      <Choice
        label="Time zone"
        value={zone}
        options={[
          { value: "utc", label: "UTC" },
          { value: "local", label: "Local" },
        ]}
        onChange={setZone}
      />
      <button
        type="button"
        className={styles.iconButton}
        onClick={() => setColorScheme(other)}
        title={`Switch to ${other}`}
        aria-label={`Switch to the ${other} theme`}
      >
        <Icon name={scheme === "dark" ? "sun" : "moon"} />
      </button>
      {menuWanted ? (
        <Suspense fallback={<AccountButton name={name} unseen={unseen} />}>
          <AccountMenu session={session} unseen={unseen} onHelp={onHelp} />
        </Suspense>
      ) : (
        <AccountButton name={name} unseen={unseen} onClick={() => setMenuWanted(true)} />
      )}
    </section>
  );
}

/** The screens of the account menu. */
const PERSONAL: Readonly<Record<string, string>> = { profile: "Profile", mentions: "Mentions" };

function Breadcrumbs() {
  const { pathname, search } = useLocation();
  const [, screen = "", rest, within, last] = pathname.split("/");
  if (screen === "bulk-fixes" && rest)
    return (
      <span className={join("t2", styles.crumbs)}>
        <Link to="/fixes">Fixes</Link> / {rest === "new" ? "Fix in bulk" : bulkFixName(Number(rest))}
      </span>
    );
  if (screen === "alerts" && within)
    return (
      <span className={join("t2", styles.crumbs)}>
        <Link to="/alerts">Alerts</Link> /{" "}
        {rest === "firings" ? `Alert ${within}` : within === "new" ? "New rule" : "Rule"}
      </span>
    );
  if (screen === "new-connector")
    return (
      <span className={join("t2", styles.crumbs)}>
        <Link to="/connectors">Connectors</Link> / New connector
      </span>
    );
  if (screen === "connectors" && rest && within)
    return (
      <span className={join("t2", styles.crumbs)}>
        <Link to="/connectors">Connectors</Link> / <ConnectorCrumbs cluster={rest} name={within} isEdited={!!last} />
      </span>
    );
  if (screen === "settings" && rest === "dialects" && within)
    return (
      <span className={join("t2", styles.crumbs)}>
        <Link to="/settings/dialects">Dialects</Link> / {within === "new" ? "New mapping" : decodeURIComponent(within)}
      </span>
    );
  const title = PERSONAL[screen] ?? SCREENS.find(({ to }) => to.split("/")[1] === screen)?.label ?? "Not found";
  if (rest === undefined || rest === "") return <span className={join("t2", styles.crumbs)}>{title}</span>;
  const back = screen === "records" ? `${search ? `${search}&` : "?"}at=${rest}` : search;
  const name =
    screen === "replays" && rest !== "new"
      ? replayName(Number(rest))
      : screen === "settings"
        ? (SETTINGS_SECTIONS.find(({ value }) => value === `/settings/${rest}`)?.label ?? decodeURIComponent(rest))
        : decodeURIComponent(rest);
  return (
    <span className={join("t2", styles.crumbs)}>
      <Link to={`/${screen}${within ? "" : back}`}>{title}</Link> /{" "}
      {within ? <Link to={`/${screen}/${rest}`}>{name}</Link> : name}
      {within === "fix" && " / Fix and replay"}
    </span>
  );
}

/** The parts of a connector's address, as they are encoded there. */
function ConnectorCrumbs({ cluster, name, isEdited }: { cluster: string; name: string; isEdited: boolean }) {
  const shown = connectorLabel({ cluster: decodeURIComponent(cluster), name: decodeURIComponent(name) });
  if (!isEdited) return shown;
  return (
    <>
      <Link to={`/connectors/${cluster}/${name}`}>{shown}</Link> / Edit
    </>
  );
}
