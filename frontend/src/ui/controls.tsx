import { Button as MantineButton, Menu, Modal, SegmentedControl, Tabs, Textarea, Tooltip } from "@mantine/core";
import { useState, type MouseEvent, type ReactNode } from "react";
import { Link } from "react-router";
import styles from "./controls.module.css";
import { join } from "./Panel";

type Kind = "default" | "primary" | "quiet" | "danger";

interface ButtonProps {
  kind?: Kind;
  small?: boolean;
  to?: string;
  children: ReactNode;
  onClick?: (event: MouseEvent) => void;
  type?: "button" | "submit";
  busy?: boolean;
  /** Why it cannot be pressed; the button stays and says so. */
  barred?: string | undefined;
  title?: string;
}

export function Button({
  kind = "default",
  small,
  to,
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
  if (barred) {
    return (
      <Tooltip label={barred} className={styles.tooltip} events={{ hover: true, focus: true, touch: true }}>
        <MantineButton
          className={className}
          data-disabled
          aria-disabled="true"
          aria-description={barred}
          onClick={(event) => event.preventDefault()}
        >
          {children}
        </MantineButton>
      </Tooltip>
    );
  }
  return (
    <MantineButton
      className={className}
      onClick={onClick}
      type={type}
      disabled={busy === true}
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

/** One of several; null is none of them. */
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

export interface TabItem {
  value: string;
  label: string;
  note?: ReactNode;
}

/** A row of tabs without panels: the caller shows what the value says. */
export function TabRow({
  value,
  items,
  onChange,
  children,
  inset,
}: {
  value: string;
  items: readonly TabItem[];
  onChange: (value: string) => void;
  children?: ReactNode;
  inset?: boolean;
}) {
  return (
    <Tabs value={value} onChange={(next) => next && onChange(next)} unstyled={false} variant="default">
      <Tabs.List className={styles.tabs} style={inset ? { padding: "2px 16px 0" } : undefined}>
        {items.map((item) => (
          <Tabs.Tab key={item.value} value={item.value} className={styles.tab}>
            {item.label}
            {item.note !== undefined && <i>{item.note}</i>}
          </Tabs.Tab>
        ))}
        <span className="sp" />
        {children}
      </Tabs.List>
    </Tabs>
  );
}

/** A button that opens a short list of things to do or fetch. */
export function MenuButton({
  label,
  items,
  small,
}: {
  label: ReactNode;
  small?: boolean;
  items: { label: ReactNode; href?: string; onClick?: () => void }[];
}) {
  return (
    <Menu
      position="bottom-end"
      offset={4}
      transitionProps={{ duration: 0 }}
      classNames={{ dropdown: styles.dropdown!, item: styles.item! }}
    >
      <Menu.Target>
        <MantineButton className={join(styles.button, small && styles.small)}>{label}</MantineButton>
      </Menu.Target>
      <Menu.Dropdown>
        {items.map((item, index) =>
          item.href === undefined ? (
            <Menu.Item key={index} onClick={item.onClick}>
              {item.label}
            </Menu.Item>
          ) : (
            <Menu.Item key={index} component="a" href={item.href} download>
              {item.label}
            </Menu.Item>
          ),
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

interface ConfirmDialogProps {
  open: boolean;
  title: string;
  children?: ReactNode;
  /** The label of a text to be given with it; without it only a yes is asked for. */
  inputLabel?: string;
  required?: boolean;
  confirmLabel: string;
  /** What leaving it does, where "Cancel" could be mistaken for the act. */
  cancelLabel?: string;
  danger?: boolean;
  /** Why it can't be done by this person or here. */
  barred?: string | undefined;
  busy: boolean;
  error: string | null;
  onClose: () => void;
  onConfirm: (text: string) => void;
}

export function ConfirmDialog({
  open,
  title,
  children,
  inputLabel,
  required,
  confirmLabel,
  cancelLabel = "Cancel",
  danger,
  barred,
  busy,
  error,
  onClose,
  onConfirm,
}: ConfirmDialogProps) {
  const [text, setText] = useState("");
  const missing = required && text.trim() === "";
  return (
    <Dialog open={open} title={title} onClose={onClose} onClosed={() => setText("")}>
      <form
        className={styles.dialogBody}
        onSubmit={(event) => {
          event.preventDefault();
          if (!missing && !barred) onConfirm(text.trim());
        }}
      >
        {children && <div className="t2">{children}</div>}
        {inputLabel && (
          <Textarea
            label={inputLabel}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            autosize={false}
            rows={3}
            data-autofocus
            classNames={{ label: styles.label!, input: styles.input! }}
            styles={{ input: { height: 74 } }}
          />
        )}
        {error && (
          <div className="failed s" role="alert">
            {error}
          </div>
        )}
        <div className="row" style={{ justifyContent: "flex-end" }}>
          <Button onClick={onClose}>{cancelLabel}</Button>
          <Button
            kind={danger ? "danger" : "primary"}
            type="submit"
            busy={busy}
            barred={barred ?? (missing ? "Enter a reason first" : undefined)}
          >
            {confirmLabel}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface DialogProps {
  open: boolean;
  title: string;
  children: ReactNode;
  /** A click beside it or Escape does not close it. */
  persistent?: boolean;
  onClose: () => void;
  onClosed?: () => void;
}

/** A window above the screen. */
export function Dialog({ open, title, children, persistent = false, onClose, onClosed }: DialogProps) {
  return (
    <Modal
      opened={open}
      onClose={onClose}
      title={title}
      centered
      closeOnClickOutside={!persistent}
      closeOnEscape={!persistent}
      closeButtonProps={{ "aria-label": "Close" }}
      transitionProps={{ duration: 0 }}
      classNames={{ content: styles.dialog!, title: styles.dialogTitle!, header: styles.dialogHead! }}
      styles={{ body: { padding: 0 } }}
      {...(onClosed && { onExitTransitionEnd: onClosed })}
    >
      {children}
    </Modal>
  );
}
