import { Button as MantineButton, SegmentedControl } from "@mantine/core";
import { Suspense, lazy, type MouseEvent, type ReactNode } from "react";
import { Link } from "react-router";
import styles from "./controls.module.css";
import { join } from "./Panel";

// With the code that places it a tenth of the first screen, which has no barred button for most people.
const Tooltip = lazy(() => import("./Tooltip").then((module) => ({ default: module.Tooltip })));

type Kind = "default" | "primary" | "quiet" | "danger";

interface ButtonProps {
  kind?: Kind;
  small?: boolean;
  to?: string;
  /** A page outside of this application. */
  href?: string;
  children: ReactNode;
  onClick?: (event: MouseEvent) => void;
  type?: "button" | "submit";
  busy?: boolean;
  /** The reason why the button is disabled, shown as a tooltip. */
  barred?: string | undefined;
  title?: string;
}

export function Button({
  kind = "default",
  small,
  to,
  href,
  children,
  onClick,
  type = "button",
  busy,
  barred,
  title,
}: ButtonProps) {
  const className = join(styles.button, kind !== "default" && styles[kind], small && styles.small);
  if (to !== undefined) {
    return (
      <MantineButton component={Link} to={to} className={className} title={title}>
        {children}
      </MantineButton>
    );
  }
  if (href !== undefined) {
    return (
      <MantineButton component="a" href={href} className={className} title={title}>
        {children}
      </MantineButton>
    );
  }
  if (barred) {
    const button = (
      <MantineButton
        className={className}
        data-disabled
        aria-disabled="true"
        aria-description={barred}
        onClick={(event) => event.preventDefault()}
      >
        {children}
      </MantineButton>
    );
    return (
      <Suspense fallback={button}>
        <Tooltip
          label={barred}
          classNames={{ tooltip: styles.tooltip! }}
          events={{ hover: true, focus: true, touch: true }}
        >
          {button}
        </Tooltip>
      </Suspense>
    );
  }
  return (
    <MantineButton
      className={className}
      // A disabled button would lose the focus while it is busy.
      onClick={busy ? (event: MouseEvent) => event.preventDefault() : onClick}
      type={type}
      {...(busy && { "data-disabled": true, "aria-disabled": true })}
      aria-busy={busy}
      title={title}
    >
      {children}
    </MantineButton>
  );
}

export function LinkButton({ children, onClick }: { children: ReactNode; onClick: () => void }) {
  return (
    <button type="button" className={styles.link} onClick={onClick}>
      {children}
    </button>
  );
}

/** A segmented control; null means that no option is active. */
export function Choice<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: T | null;
  options: readonly { value: T; label: string }[];
  onChange: (value: T) => void;
}) {
  return (
    <SegmentedControl
      aria-label={label}
      value={value ?? ""}
      data={[...options]}
      onChange={(next) => onChange(next as T)}
      transitionDuration={0}
      classNames={{
        root: styles.seg!,
        label: styles.segLabel!,
        indicator: styles.segIndicator!,
        control: styles.segControl!,
      }}
    />
  );
}
