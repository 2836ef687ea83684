import { useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useAlertRules } from "../api/alerts";
import { useDeadLetterAt, usePaletteNames, useReplayNumbered, useReplayWithUuid } from "../api/commandPalette";
import { useConnectors } from "../api/connectors";
import { useMayNotRead, useMayWrite } from "../api/session";
import { stateWords } from "../features/alerts/ruleWords";
import { connectorLabel, connectorPage, isQuery } from "../lib/connectors";
import { recordsWith } from "../lib/filter";
import { count, plural } from "../lib/format";
import { bulkFixName, replayName } from "../lib/naming";
import {
  coordinates,
  keySearch,
  matchingEntries,
  paletteNote,
  replayNumber,
  replayUuid,
  type Coordinates,
  type PaletteEntry,
  type Source,
} from "../lib/palette";
import { SCREENS } from "./screens";

const TYPING_MS = 250;

/** Return the matching entries, and a note if names are missing or nothing matches. */
export function usePaletteEntries(text: string): { places: PaletteEntry[]; note: string } {
  const [settled] = useDebouncedValue(text, TYPING_MS);
  const barred = useMayNotRead() !== undefined;
  const wanted = coordinates(text);
  const record = useDeadLetterAt(settled === text ? wanted : null);
  const { entries, sources } = useNamedEntries();
  const actions = useActions();
  const numbered = useReplayNumbered(settled === text ? replayNumber(text) : null).data;
  const withUuid = useReplayWithUuid(settled === text ? replayUuid(text) : null).data;
  if (wanted !== null) {
    const place = record.data && {
      section: "Record",
      label: nameOf(wanted),
      note: record.data.by === "origin" ? "its newest dead letter" : "dead letter",
      to: `/records/${record.data.id}`,
    };
    return {
      places: place ? [place] : [],
      note: place ? "" : record.isError ? record.error.message : "Looking it up…",
    };
  }
  const named = matchingEntries([...SCREEN_ENTRIES, ...actions, ...entries], text);
  const found = numbered ?? withUuid;
  const replay = found && replayEntry(found);
  const places = replay && !named.some(({ to }) => to === replay.to) ? [...named, replay] : named;
  return {
    places: [...places, ...(barred ? [] : keySearch(text))],
    note: paletteNote([{ name: "the screens", state: "success" }, ...sources], places.length),
  };
}

const SCREEN_ENTRIES: readonly PaletteEntry[] = [
  ...SCREENS,
  { to: "/settings/channels", label: "Channels of alerts" },
  { to: "/profile", label: "Profile" },
].map(({ to, label }) => ({ section: "Screens", label, also: "go to", to }));

/** Return the actions of the palette. An action that writes leads to the page that asks for confirmation. */
function useActions(): PaletteEntry[] {
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme("light", { getInitialValueInEffect: false });
  const connectors = useConnectors();
  const mayWrite = useMayWrite().allowed;
  const other = scheme === "dark" ? "light" : "dark";
  const paused = (state: string) => state.toLowerCase() === "paused";
  return [
    { section: "Actions", label: `Switch to ${other} theme`, act: () => setColorScheme(other) },
    { section: "Actions", label: "New alert rule", to: "/alerts/rules/new" },
    { section: "Actions", label: "New export", note: "filter the records, then export", to: "/records" },
    ...(mayWrite ? (connectors.data?.results ?? []).filter((one) => !isQuery(one)) : []).map((one) => ({
      section: "Actions",
      label: `${paused(one.state) ? "Resume" : "Pause"} connector ${connectorLabel(one)}…`,
      to: connectorPage(one),
    })),
  ];
}

/** Return the entries of all loaded names, and the state of each source. */
function useNamedEntries(): { entries: PaletteEntry[]; sources: Source[] } {
  const { topics, groups, replays, bulkFixes } = usePaletteNames();
  const connectors = useConnectors();
  const rules = useAlertRules();
  const entries = [
    ...(topics.data?.facets.topic ?? []).map(({ value, label, count: n }) => ({
      section: "Dead letter topics of 30 d",
      label,
      note: plural(n, "record"),
      to: recordsWith("topic", value, "now-30d"),
    })),
    ...(groups.data?.results ?? []).map((group) => ({
      section: "Groups of 30 d",
      label: group.title,
      note: plural(group.events, "event"),
      to: `/groups/${group.id}?range=30d`,
    })),
    ...(replays.data?.results ?? []).map(replayEntry),
    ...(bulkFixes.data?.results ?? []).map(({ id, status, selection }) => ({
      section: "Bulk fixes",
      label: `${bulkFixName(id)} ${selection.title}`,
      note: status,
      also: "bulk fix",
      to: `/bulk-fixes/${id}`,
    })),
    ...(connectors.data?.results ?? []).map((one) => ({
      section: "Connectors",
      label: connectorLabel(one),
      to: connectorPage(one),
    })),
  ];
  const ruleEntries = (rules.data?.results ?? []).map(({ id, name, state }) => ({
    section: "Alert rules",
    label: name,
    note: stateWords(state).label,
    also: "alert rule",
    to: `/alerts/rules/${id}`,
  }));
  const topicSource =
    topics.data?.exact === false
      ? `the dead letter topics of the newest ${count(topics.data.of)} records`
      : "the dead letter topics of 30 d";
  const groupSource = groups.data?.next ? `the newest ${groups.data.results.length} groups` : "the groups of 30 d";
  return {
    entries: [...entries, ...ruleEntries],
    sources: [
      { name: topicSource, state: stateOf(topics) },
      { name: groupSource, state: stateOf(groups) },
      { name: "the newest replays", state: stateOf(replays) },
      { name: "the newest bulk fixes", state: stateOf(bulkFixes) },
      { name: "the connectors", state: stateOf(connectors) },
      { name: "the alert rules", state: stateOf(rules) },
    ],
  };
}

function replayEntry({ id, title }: { id: number; title: string }): PaletteEntry & { to: string } {
  return { section: "Replays", label: `${replayName(id)} ${title}`, also: "replay", to: `/replays/${id}` };
}

/** Return the state of a query; data counts as success even if a later refresh failed. */
function stateOf({ data, isError }: { data: unknown; isError: boolean }): Source["state"] {
  if (data !== undefined) return "success";
  return isError ? "error" : "pending";
}

function nameOf({ topic, partition, offset }: Coordinates): string {
  return `${topic} / ${partition} / ${offset}`;
}
