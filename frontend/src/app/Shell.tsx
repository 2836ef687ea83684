import { Menu, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { Suspense, lazy, useState, type ReactNode } from "react";
import { Link, NavLink, useLocation, useNavigate } from "react-router";
import { useDeadLetterTotal } from "../api/deadLetters";
import { useGroupCounts } from "../api/groups";
import { useHealth } from "../api/health";
import { useSignOut } from "../api/session";
import type { Session } from "../api/types";
import { askFilter } from "../lib/filter";
import { clock, count, plural } from "../lib/format";
import { useKeys } from "../lib/keys";
import { bulkFixName, replayName } from "../lib/naming";
import { inSpan, readSpan, withSpan, type Span } from "../lib/span";
import { useNow, useZone } from "../lib/zone";
import { Choice } from "../ui/controls";
import { DisposalToast } from "../features/disposing/DisposalToast";
import { Avatar, Glyph, join } from "../ui/Panel";
import { Mark } from "../ui/Mark";
import { Icon, type IconName } from "./icons";
import { KeyHelp } from "./KeyHelp";
import { SCREENS } from "./screens";
import styles from "./Shell.module.css";
import { Standing, indexBehind, secondsBehind } from "./Standing";

const Palette = lazy(() => import("./Palette").then((module) => ({ default: module.Palette })));

const EVERY_MS = 15_000;
const MOD = /Mac|iP(hone|ad)/.test(navigator.userAgent) ? "⌘" : "Ctrl";

export function Shell({ session, children }: { session: Session; children: ReactNode }) {
  const [opened, setOpened] = useState<"keys" | "palette" | null>(null);
  const navigate = useNavigate();
  const { pathname } = useLocation();
  const span = useKeptSpan();
  const close = () => setOpened(null);
  const openPalette = (event?: KeyboardEvent) => (event?.preventDefault(), setOpened("palette"));
  useKeys({
    "?": () => setOpened("keys"),
    "Mod+k": openPalette,
    ...(pathname === "/records" ? {} : { "/": openPalette }),
    ...Object.fromEntries(SCREENS.map(({ key, to }) => [`g ${key}`, () => void navigate(addressOf(to, span))])),
  });
  return (
    <>
      <a href="#main" className={styles.skip}>
        Skip to the content
      </a>
      <Banner session={session} />
      <div className={styles.app}>
        <Navigation span={span} />
        <div style={{ minWidth: 0 }}>
          <TopBar session={session} onHelp={() => setOpened("keys")} onFind={() => setOpened("palette")} />
          <main className={styles.main} id="main" tabIndex={-1}>
            <Standing />
            {children}
          </main>
        </div>
      </div>
      <DisposalToast />
      <KeyHelp open={opened === "keys"} onClose={close} />
      {opened === "palette" && (
        <Suspense>
          <Palette onClose={close} />
        </Suspense>
      )}
    </>
  );
}

function Banner({ session }: { session: Session }) {
  const { data: health } = useHealth();
  return (
    <div className={join(styles.env, session.environment === "LOCAL" && styles.local)}>
      <b>{session.environment}</b>
      <span>{session.cluster}</span>
      {health && (
        <span className={styles.wide}>
          {health.broker.reachable ? `Kafka, ${plural(health.broker.brokers ?? 0, "broker")}` : "Kafka not reachable"}
        </span>
      )}
      <span className={styles.wide}>{session.read_only ? "read-only" : "writes allowed"}</span>
      <span className="sp" />
      <span>
        You are <span className={styles.role}>{session.role ?? "without a role"}</span>
      </span>
    </div>
  );
}

function Navigation({ span }: { span: Span }) {
  const time = askFilter({ clauses: [], from: span.from, to: span.to });
  const groups = useGroupCounts(`status=unresolved&${time}`, EVERY_MS);
  const records = useDeadLetterTotal(time, EVERY_MS);
  const notes: Record<string, string | undefined> = {
    "/groups": groups.data && count(groups.data.counts.unresolved ?? 0),
    "/records": records.data && `${count(records.data.count)}${records.data.exact ? "" : "+"}`,
  };
  return (
    <nav className={styles.nav} aria-label="Screens">
      <Link to="/" className={styles.brand} aria-label="dlqadmin, overview">
        <Mark />
        <span>dlqadmin</span>
      </Link>
      {SCREENS.map(({ to, label, icon }) => (
        <Entry key={to} to={addressOf(to, span)} icon={icon} label={label} note={notes[to]} />
      ))}
      <IndexHealth />
    </nav>
  );
}

/** The time of the overview and of the groups, which goes along to the screens that have one; elsewhere the usual one. */
function useKeptSpan(): Span {
  const { pathname, search } = useLocation();
  return readSpan(new URLSearchParams(/^\/(groups(\/|$)|$)/.test(pathname) ? search : ""));
}

function addressOf(screen: string, span: Span): string {
  if (screen === "/records") return inSpan(screen, span);
  return screen === "/" || screen === "/groups" ? withSpan(screen, span) : screen;
}

function Entry({ to, icon, label, note }: { to: string; icon: IconName; label: string; note: string | undefined }) {
  return (
    <NavLink
      to={to}
      end={to.split("?")[0] === "/"}
      className={({ isActive }) => join(styles.link, isActive && styles.on)}
      title={label}
    >
      <Icon name={icon} />
      <span>{label}</span>
      {note && <i>{note}</i>}
    </NavLink>
  );
}

function IndexHealth() {
  const { data, isError } = useHealth();
  if (!data) return <div className={styles.foot}>{isError ? "Health is unknown" : ""}</div>;
  const { index, broker, engine } = data;
  const known = broker.reachable && index.records_behind !== null;
  const current = known && !indexBehind(data);
  const seconds = index.seconds_behind === null ? "" : `, ${secondsBehind(index.seconds_behind)} behind`;
  return (
    <div className={styles.foot}>
      <div className="row" style={{ gap: 6 }}>
        <Glyph tone={current ? "passed" : "warn"}>{current ? "✓" : "!"}</Glyph>
        <span className={styles.words}>
          {current ? "Index up to date" : known ? "Index behind" : "Index may be behind"}
        </span>
      </div>
      <div className={styles.words}>
        {known ? `${plural(index.records_behind ?? 0, "record")}${seconds}` : "Kafka does not respond"}
      </div>
      <div className={join(styles.words, !broker.reachable && "failed")}>
        {broker.reachable ? plural(broker.brokers ?? 0, "broker") : "Broker not reachable"}
      </div>
      <div className={join(styles.words, !engine.reachable && "failed")}>
        {engine.reachable ? `Engine, ${plural(engine.workers ?? 0, "worker")}` : "Engine not reachable"}
      </div>
    </div>
  );
}

function TopBar({ session, onHelp, onFind }: { session: Session; onHelp: () => void; onFind: () => void }) {
  const { zone, setZone } = useZone();
  const now = useNow(1000);
  const signOut = useSignOut();
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme("light", { getInitialValueInEffect: false });
  const other = scheme === "dark" ? "light" : "dark";
  const name = session.username ?? "";
  return (
    <div className={styles.top}>
      <Crumbs />
      <span className="sp" />
      <button type="button" className={styles.find} onClick={onFind}>
        <Icon name="find" />
        <span>Go to a name, or topic/partition/offset</span>
        <kbd aria-hidden="true">{MOD} K</kbd>
      </button>
      <span className={join("mono t2", styles.wide)}>{clock(now, zone)}</span>
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
        className={styles.icon}
        onClick={() => setColorScheme(other)}
        title={`Switch to ${other}`}
        aria-label={`Switch to the ${other} theme`}
      >
        <Icon name={scheme === "dark" ? "sun" : "moon"} />
      </button>
      <Menu
        position="bottom-end"
        transitionProps={{ duration: 0 }}
        classNames={{ dropdown: styles.dropdown!, item: styles.item! }}
      >
        <Menu.Target>
          <button type="button" className={styles.who} aria-label={`Signed in as ${name}`}>
            <Avatar name={name} me size={26} />
          </button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>
            {name}, {session.role ?? "without a role"}
          </Menu.Label>
          <Menu.Item component={Link} to="/profile">
            Profile
          </Menu.Item>
          <Menu.Item onClick={onHelp} rightSection={<kbd>?</kbd>}>
            Keys
          </Menu.Item>
          <Menu.Item onClick={() => setColorScheme("auto")}>Follow the system’s theme</Menu.Item>
          <Menu.Item onClick={() => signOut.mutate()}>Sign out</Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </div>
  );
}

function Crumbs() {
  const { pathname, search } = useLocation();
  const [, screen = "", rest, within] = pathname.split("/");
  if (screen === "bulk-fixes" && rest)
    return (
      <span className={join("t2", styles.crumbs)}>
        <Link to="/fixes">Fixes</Link> / {rest === "new" ? "Fix in bulk" : bulkFixName(Number(rest))}
      </span>
    );
  const title =
    screen === "profile" ? "Profile" : (SCREENS.find(({ to }) => to.split("/")[1] === screen)?.label ?? "Not found");
  if (rest === undefined || rest === "") return <span className={join("t2", styles.crumbs)}>{title}</span>;
  const back = screen === "records" ? `${search ? `${search}&` : "?"}at=${rest}` : search;
  const name =
    screen === "replays" && rest !== "new"
      ? replayName(Number(rest))
      : screen === "settings"
        ? "Clusters"
        : decodeURIComponent(rest);
  return (
    <span className={join("t2", styles.crumbs)}>
      <Link to={`/${screen}${within ? "" : back}`}>{title}</Link> /{" "}
      {within ? <Link to={`/${screen}/${rest}`}>{name}</Link> : name}
      {within === "fix" && " / Fix and replay"}
    </span>
  );
}
