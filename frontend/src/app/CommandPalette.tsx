import { Modal } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useId, useState, type KeyboardEvent } from "react";
import { useNavigate } from "react-router";
import { useConnectors } from "../api/connectors";
import { useDeadLetterAt, usePaletteNames } from "../api/commandPalette";
import { recordsWith } from "../lib/filter";
import { count, plural } from "../lib/format";
import {
  coordinates,
  matchingEntries,
  paletteNote,
  type Coordinates,
  type PaletteEntry,
  type Source,
} from "../lib/palette";
import { join } from "../ui/Panel";
import styles from "./CommandPalette.module.css";
import { SCREENS } from "./screens";

const TYPING_MS = 250;

/** The command palette: finds screens, topics, groups and connectors by name, and records by topic/partition/offset. */
export function CommandPalette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const navigate = useNavigate();
  const list = useId();
  const { places, note } = usePaletteEntries(text);
  const chosen = places[Math.min(at, places.length - 1)];
  const go = (place: PaletteEntry | undefined) => {
    if (!place) return;
    onClose();
    void navigate(place.to);
  };
  const steer = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined) {
      event.preventDefault();
      setAt((Math.min(at, places.length - 1) + by + places.length) % Math.max(1, places.length));
    }
    if (event.key === "Enter") go(chosen);
  };
  return (
    <Modal
      opened
      onClose={onClose}
      withCloseButton={false}
      title="Go to"
      yOffset="12vh"
      size={560}
      padding={0}
      transitionProps={{ duration: 0 }}
      classNames={{ content: styles.content!, header: styles.header! }}
    >
      <input
        className={styles.input}
        role="combobox"
        aria-label="Go to"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={chosen ? `${list}-${places.indexOf(chosen)}` : undefined}
        placeholder="A screen, topic, group, connector, or topic/partition/offset"
        autoComplete="off"
        spellCheck={false}
        data-autofocus
        value={text}
        onChange={(event) => (setText(event.currentTarget.value), setAt(0))}
        onKeyDown={steer}
      />
      <div className={styles.list} id={list} role="listbox" aria-label="Places">
        {places.map((place, index) => (
          <div key={`${place.section} ${place.to} ${place.label}`}>
            {place.section !== places[index - 1]?.section && (
              <div className={styles.section} aria-hidden="true">
                {place.section}
              </div>
            )}
            <PaletteOption id={`${list}-${index}`} place={place} on={place === chosen} onClick={() => go(place)} />
          </div>
        ))}
      </div>
      {note && (
        <div className={styles.note} role="status">
          {note}
        </div>
      )}
    </Modal>
  );
}

function PaletteOption({
  id,
  place,
  on,
  onClick,
}: {
  id: string;
  place: PaletteEntry;
  on: boolean;
  onClick: () => void;
}) {
  const shown = (node: HTMLElement | null) => {
    if (on) node?.scrollIntoView({ block: "nearest" });
  };
  return (
    <div
      id={id}
      ref={shown}
      role="option"
      aria-selected={on}
      className={join(styles.option, on && styles.on)}
      onClick={onClick}
      title={place.label}
    >
      <span className="cut">{place.label}</span>
      <span className="sp" />
      {place.note && <span className="s t3 nw">{place.note}</span>}
    </div>
  );
}

/** Return the matching entries, and a note if names are missing or nothing matches. */
function usePaletteEntries(text: string): { places: PaletteEntry[]; note: string } {
  const { topics, groups } = usePaletteNames();
  const connectors = useConnectors();
  const wanted = coordinates(text);
  const [settled] = useDebouncedValue(text, TYPING_MS);
  const record = useDeadLetterAt(settled === text ? wanted : null);
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
  const places = matchingEntries(
    [
      ...SCREENS.map(({ to, label }) => ({ section: "Screens", label, to })),
      { section: "Screens", label: "Profile", to: "/profile" },
      ...(topics.data?.facets.topic ?? []).map(({ value, label, count }) => ({
        section: "Dead letter topics of 30 d",
        label,
        note: plural(count, "record"),
        to: recordsWith("topic", value, "now-30d"),
      })),
      ...(groups.data?.results ?? []).map((group) => ({
        section: "Groups of 30 d",
        label: group.title,
        note: plural(group.events, "event"),
        to: `/groups/${group.id}?range=30d`,
      })),
      ...(connectors.data?.results ?? []).map(({ name }) => ({
        section: "Connectors",
        label: name,
        to: `/connectors/${encodeURIComponent(name)}`,
      })),
    ],
    text,
  );
  const sources = [
    { name: "the screens", state: "success" as const },
    {
      name:
        topics.data?.exact === false
          ? `the dead letter topics of the newest ${count(topics.data.of)} records`
          : "the dead letter topics of 30 d",
      state: stateOf(topics),
    },
    {
      name: groups.data?.next ? `the newest ${groups.data.results.length} groups` : "the groups of 30 d",
      state: stateOf(groups),
    },
    { name: "the connectors", state: stateOf(connectors) },
  ];
  return { places, note: paletteNote(sources, places.length) };
}

/** Return the state of a query; data counts as success even if a later refresh failed. */
function stateOf({ data, isError }: { data: unknown; isError: boolean }): Source["state"] {
  if (data !== undefined) return "success";
  return isError ? "error" : "pending";
}

function nameOf({ topic, partition, offset }: Coordinates): string {
  return `${topic} / ${partition} / ${offset}`;
}
