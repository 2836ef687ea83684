import { Skeleton } from "@mantine/core";
import type { ReactNode } from "react";
import { initials } from "../lib/format";
import type { Tone } from "../lib/states";
import styles from "./Panel.module.css";

/** A bordered surface with an optional heading line; panels never nest. */
export function Panel({
  title,
  aside,
  children,
  className,
  label,
}: {
  title?: ReactNode;
  aside?: ReactNode;
  children: ReactNode;
  className?: string | undefined;
  label?: string;
}) {
  return (
    <section className={join(styles.panel, className)} aria-label={label}>
      {(title !== undefined || aside !== undefined) && (
        <header className={styles.head}>
          {typeof title === "string" ? <h2>{title}</h2> : title}
          {aside !== undefined && <span className="sp" />}
          {aside}
        </header>
      )}
      {children}
    </section>
  );
}

export function PageHead({ title, note, children }: { title: ReactNode; note?: ReactNode; children?: ReactNode }) {
  return (
    <div className={styles.page}>
      <div>
        {typeof title === "string" ? <h1>{title}</h1> : title}
        {note !== undefined && <div className="s t3">{note}</div>}
      </div>
      <span className="sp" />
      {children}
    </div>
  );
}

export function Chip({
  tone = "plain",
  mono,
  wraps,
  children,
  title,
}: {
  tone?: Tone;
  mono?: boolean;
  /** Whether a text that is too long for its line continues in the next one. */
  wraps?: boolean;
  children: ReactNode;
  title?: string;
}) {
  return (
    <span className={join(styles.chip, toneClass(tone), mono && styles.mono, wraps && styles.wraps)} title={title}>
      {children}
    </span>
  );
}

export function Glyph({ tone, large, children }: { tone: Tone; large?: boolean; children: ReactNode }) {
  return (
    <span className={join(styles.glyph, toneClass(tone), large && styles.large)} aria-hidden="true">
      {children}
    </span>
  );
}

export function Avatar({ name, me, size }: { name: string; me?: boolean; size?: number }) {
  return (
    <span
      className={join(styles.avatar, me && styles.me)}
      style={size ? { width: size, height: size } : undefined}
      data-initials={initials(name)}
      aria-hidden="true"
    />
  );
}

export function Facts({ rows }: { rows: [ReactNode, ReactNode][] }) {
  return (
    <dl className={styles.facts}>
      {rows.map(([name, value], index) => [<dt key={`t${index}`}>{name}</dt>, <dd key={`d${index}`}>{value}</dd>])}
    </dl>
  );
}

/** A horizontal bar, filled to `part` (0 to 1). */
export function Meter({ part, colour, height }: { part: number; colour: string; height?: number }) {
  const width = part <= 0 ? 0 : Math.max(1.5, Math.min(100, part * 100));
  return (
    <span className={styles.meter} style={height ? { height } : undefined}>
      <i style={{ width: `${width}%`, background: colour }} />
    </span>
  );
}

/** Replaces a list or chart that has nothing to show: the fact first, then the possible actions. */
export function Notice({ title, children, actions }: { title: ReactNode; children?: ReactNode; actions?: ReactNode }) {
  return (
    <div className={styles.notice} role="status">
      <strong>{title}</strong>
      {children && <div>{children}</div>}
      {actions && <div className={styles.actions}>{actions}</div>}
    </div>
  );
}

/** A one-line message with a tone, such as a warning above a page. */
export function Strip({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <div className={join(styles.strip, toneClass(tone))} role="status">
      {children}
    </div>
  );
}

/** Loading placeholders with the height of the expected content. */
export function SkeletonRows({ rows, height = 20 }: { rows: number; height?: number }) {
  return (
    <div className={styles.bones} role="status" aria-busy="true" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        <Skeleton key={index} height={height} radius={4} />
      ))}
    </div>
  );
}

export function join(...names: (string | false | undefined)[]): string {
  return names.filter(Boolean).join(" ");
}

function toneClass(tone: Tone): string | undefined {
  return tone === "plain" ? undefined : styles[tone];
}
