import { useContext, useEffect, useState } from "react";
import { UNSAFE_NavigationContext, type Navigator } from "react-router";
import { ConfirmDialog } from "./Dialog";

/**
 * Ask before a link, a key or a button leads away from unsaved changes.
 * The router's own blocker needs a data router. The browser's Back button cannot be asked.
 */
export function LeaveGuard({ active, text }: { active: boolean; text: string }) {
  const { navigator } = useContext(UNSAFE_NavigationContext);
  const [leave, setLeave] = useState<(() => void) | null>(null);
  useEffect(() => {
    if (!active) return;
    const askBrowser = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", askBrowser);
    const release = heldBack(navigator, (go) => setLeave(() => go));
    return () => {
      window.removeEventListener("beforeunload", askBrowser);
      release();
    };
  }, [active, navigator]);
  return (
    <ConfirmDialog
      open={leave !== null}
      title="Leave without saving?"
      confirmLabel="Leave"
      cancelLabel="Stay"
      danger
      busy={false}
      error={null}
      onClose={() => setLeave(null)}
      onConfirm={() => {
        setLeave(null);
        leave?.();
      }}
    >
      {text}
    </ConfirmDialog>
  );
}

/** Hand all navigations to `ask` instead of running them. Returns a function that ends this. */
function heldBack(navigator: Navigator, ask: (go: () => void) => void): () => void {
  const { push } = navigator;
  navigator.push = (...args) => ask(() => push.apply(navigator, args));
  return () => {
    navigator.push = push;
  };
}
