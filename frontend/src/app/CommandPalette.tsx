import { Modal } from "@mantine/core";
import { useId, useState, type KeyboardEvent } from "react";
import { useNavigate } from "react-router";
import type { PaletteEntry } from "../lib/palette";
import { join } from "../ui/Panel";
import styles from "./CommandPalette.module.css";
import { usePaletteEntries } from "./CommandPaletteEntries";

/** The command palette: finds screens, actions and objects by name, and records by topic/partition/offset or key. */
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
    place.act?.();
    if (place.to !== undefined) void navigate(place.to);
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
        placeholder="A screen, action, topic, group, connector, replay, key, or topic/partition/offset"
        autoComplete="off"
        spellCheck={false}
        data-autofocus
        value={text}
        onChange={(event) => (setText(event.currentTarget.value), setAt(0))}
        onKeyDown={steer}
      />
      <div className={styles.list} id={list} role="listbox" aria-label="Places">
        {places.map((place, index) => (
          <div key={`${place.section} ${place.to ?? ""} ${place.label}`}>
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
