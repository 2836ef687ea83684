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
  /** The reason why the button is disabled, shown as a tooltip. */
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

export interface TabItem {
  value: string;
  label: string;
  note?: ReactNode;
}

/** A row of tabs; the caller renders the active panel. */
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

/** A button with a menu of actions or downloads. */
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
  /** The label of the text input; without it the dialog has none. */
  inputLabel?: string;
  required?: boolean;
  confirmLabel: string;
  /** The label of the closing button, for dialogs in which "Cancel" would be ambiguous. */
  cancelLabel?: string;
  danger?: boolean;
  /** The reason why the action is not available. */
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
  /** Do not close on Escape or a click outside. */
  persistent?: boolean;
  onClose: () => void;
  onClosed?: () => void;
}

/** A modal dialog. */
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
