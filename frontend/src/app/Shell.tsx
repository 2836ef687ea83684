import { Menu, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { Link, NavLink, useLocation } from "react-router";
import { useDeadLetterTotal } from "../api/deadLetters";
import { useGroupCounts } from "../api/groups";
import { useHealth } from "../api/health";
import { useSignOut } from "../api/session";
import type { Session } from "../api/types";
import { askFilter, readFilter } from "../lib/filter";
import { clock, count, plural, span } from "../lib/format";
import { useKeys } from "../lib/keys";
import { replayName } from "../lib/naming";
import { useNow, useZone } from "../lib/zone";
import { Choice } from "../ui/controls";
import { Avatar, Glyph, join } from "../ui/Panel";
import { Mark } from "../ui/Mark";
import { Icon, type IconName } from "./icons";
import { KeyHelp } from "./KeyHelp";
import styles from "./Shell.module.css";

const EVERY_MS = 15_000;
const BEHIND_RECORDS = 100;
const WEEK = askFilter(readFilter(new URLSearchParams()));

export function Shell({ session, children }: { session: Session; children: ReactNode }) {
  const [helping, setHelping] = useState(false);
  useKeys({ "?": () => setHelping(true) });
  return (
    <>
      <a href="#main" className={styles.skip}>Skip to the content</a>
      <Banner session={session} />
      <div className={styles.app}>
        <Navigation />
        <div style={{ minWidth: 0 }}>
          <TopBar session={session} onHelp={() => setHelping(true)} />
          <main className={styles.main} id="main">{children}</main>
        </div>
      </div>
      <KeyHelp open={helping} onClose={() => setHelping(false)} />
    </>
  );
}

function Banner({ session }: { session: Session }) {
  const { data: health } = useHealth();
  return (
    <div className={join(styles.env, session.environment === "LOCAL" && styles.local)}>
      <b>{session.environment}</b>
      <span>{session.cluster}</span>
      {health && <span className={styles.wide}>{health.broker.reachable ? `Kafka, ${plural(health.broker.brokers ?? 0, "broker")}` : "Kafka away"}</span>}
      <span className={styles.wide}>{session.read_only ? "read-only" : "writes allowed"}</span>
      <span className="sp" />
      <span>You are <span className={styles.role}>{session.role ?? "without a role"}</span></span>
    </div>
  );
}

function Navigation() {
  const groups = useGroupCounts("status=unresolved&from=now-7d&to=now", EVERY_MS);
  const records = useDeadLetterTotal(WEEK, EVERY_MS);
  const total = records.data ? `${count(records.data.count)}${records.data.exact ? "" : "+"}` : "";
  return (
    <nav className={styles.nav} aria-label="Screens">
      <Link to="/" className={styles.brand} aria-label="dlqadmin, overview"><Mark /><span>dlqadmin</span></Link>
      <Entry to="/" icon="overview" label="Overview" />
      <Entry to="/groups" icon="groups" label="Groups" note={count(groups.data?.counts.unresolved ?? 0)} />
      <Entry to="/records" icon="records" label="Records" note={total} />
      <Entry to="/replays" icon="replays" label="Replays" />
      <Entry to="/connectors" icon="connectors" label="Connectors" />
      <Entry to="/audit" icon="audit" label="Audit" />
      <IndexHealth />
    </nav>
  );
}

function Entry({ to, icon, label, note }: { to: string; icon: IconName; label: string; note?: string }) {
  return (
    <NavLink to={to} end={to === "/"} className={({ isActive }) => join(styles.link, isActive && styles.on)} title={label}>
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
  const behind = index.records_behind;
  const current = broker.reachable && behind !== null && behind < BEHIND_RECORDS;
  const seconds = index.seconds_behind === null ? "" : `, ${secondsBehind(index.seconds_behind)} behind`;
  return (
    <div className={styles.foot}>
      <div className="row" style={{ gap: 6 }}>
        <Glyph tone={current ? "passed" : "warn"}>{current ? "✓" : "!"}</Glyph>
        <span className={styles.words}>{current ? "Index up to date" : broker.reachable && behind !== null ? "Index behind" : "Index may be behind"}</span>
      </div>
      <div className={styles.words}>{behind === null || !broker.reachable ? "its topics cannot be asked" : `${plural(behind, "record")}${seconds}`}</div>
      <div className={join(styles.words, !broker.reachable && "failed")}>{broker.reachable ? plural(broker.brokers ?? 0, "broker") : "Broker away"}</div>
      <div className={join(styles.words, !engine.reachable && "failed")}>{engine.reachable ? `Engine, ${plural(engine.workers ?? 0, "worker")}` : "Engine away"}</div>
    </div>
  );
}

function TopBar({ session, onHelp }: { session: Session; onHelp: () => void }) {
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
      <span className={join("mono t2", styles.wide)}>{clock(now, zone)}</span>
      <Choice label="Time zone" value={zone} options={[{ value: "utc", label: "UTC" }, { value: "local", label: "Local" }]} onChange={setZone} />
      <button type="button" className={styles.icon} onClick={() => setColorScheme(other)} title={`Switch to ${other}`} aria-label={`Switch to the ${other} theme`}>
        <Icon name={scheme === "dark" ? "sun" : "moon"} />
      </button>
      <Menu position="bottom-end" transitionProps={{ duration: 0 }} classNames={{ dropdown: styles.dropdown!, item: styles.item! }}>
        <Menu.Target>
          <button type="button" className={styles.who} aria-label={`Signed in as ${name}`}><Avatar name={name} me size={26} /></button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>{name}, {session.role ?? "without a role"}</Menu.Label>
          <Menu.Item onClick={onHelp} rightSection={<kbd>?</kbd>}>Keys</Menu.Item>
          <Menu.Item onClick={() => setColorScheme("auto")}>Follow the system’s theme</Menu.Item>
          <Menu.Item onClick={() => signOut.mutate()}>Sign out</Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </div>
  );
}

const TITLES: Record<string, string> = { "": "Overview", groups: "Groups", records: "Records", replays: "Replays", connectors: "Connectors", audit: "Audit" };

function Crumbs() {
  const { pathname, search } = useLocation();
  const [, screen = "", rest, within] = pathname.split("/");
  const title = TITLES[screen] ?? "Not found";
  if (rest === undefined || rest === "") return <span className={join("t2", styles.crumbs)}>{title}</span>;
  const back = screen === "records" ? `${search ? `${search}&` : "?"}at=${rest}` : search;
  const name = screen === "replays" && rest !== "new" ? replayName(Number(rest)) : decodeURIComponent(rest);
  return (
    <span className={join("t2", styles.crumbs)}>
      <Link to={`/${screen}${within ? "" : back}`}>{title}</Link> / {within ? <Link to={`/${screen}/${rest}`}>{name}</Link> : name}
      {within === "fix" && " / Fix and replay"}
    </span>
  );
}

function secondsBehind(seconds: number): string {
  return seconds < 10 ? `${Math.max(0, seconds).toFixed(1)} s` : span(seconds * 1000);
}
