import { Modal, Textarea } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { Button } from "./controls";
import styles from "./controls.module.css";
import { useFocusReturn } from "./useFocusReturn";

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

/** A modal dialog. The focus goes back to the element that opened it. */
export function Dialog({ open, title, children, persistent = false, onClose, onClosed }: DialogProps) {
  useFocusReturn(open);
  return (
    <Modal
      opened={open}
      onClose={onClose}
      title={title}
      centered
      closeOnClickOutside={!persistent}
      closeOnEscape={!persistent}
      returnFocus={false}
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
