import { PasswordInput, TextInput } from "@mantine/core";
import { useState } from "react";
import { useEndTwoFactor } from "../../api/twoFactor";
import controls from "../../ui/controls.module.css";
import { ConfirmDialog } from "../../ui/Dialog";
import styles from "./Account.module.css";

/** Switch two-factor sign-in off with the password and a code. */
export function EndTwoFactorDialog({ onClose }: { onClose: () => void }) {
  const end = useEndTwoFactor();
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const isReady = password !== "" && code.trim() !== "";
  return (
    <ConfirmDialog
      open
      title="Switch two-factor sign-in off"
      confirmLabel="Switch off"
      barred={isReady ? undefined : "Type your password and a code first"}
      busy={end.isPending}
      error={end.error?.message.replace(/^(password|code): /, "") ?? null}
      onClose={onClose}
      onConfirm={() => end.mutate({ password, code: code.trim() }, { onSuccess: onClose })}
    >
      <div className={styles.fields}>
        <PasswordInput
          label="Password"
          autoComplete="current-password"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          data-autofocus
          classNames={{ label: controls.label!, input: controls.tallInput! }}
        />
        <TextInput
          label="Code"
          description="From your authenticator app, or one of your recovery codes"
          autoComplete="one-time-code"
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
          classNames={{ label: controls.label!, input: controls.input! }}
        />
      </div>
    </ConfirmDialog>
  );
}
