import { PasswordInput, TextInput } from "@mantine/core";
import { useState } from "react";
import { useBeginTwoFactor, useConfirmTwoFactor, type TwoFactorSecret } from "../../api/twoFactor";
import controls from "../../ui/controls.module.css";
import { CopyField } from "../../ui/CopyField";
import { ConfirmDialog } from "../../ui/Dialog";
import { OnceDialog } from "../../ui/OnceDialog";
import styles from "./Account.module.css";

/** Switch two-factor sign-in on: ask for the password, show the secret, confirm it, show the recovery codes once. */
export function TwoFactorDialog({ onClose }: { onClose: () => void }) {
  const begin = useBeginTwoFactor();
  const confirm = useConfirmTwoFactor();
  const [password, setPassword] = useState("");
  if (confirm.data) return <RecoveryCodesDialog codes={confirm.data.recovery_codes} onClose={onClose} />;
  if (begin.data) return <SecretDialog secret={begin.data} confirm={confirm} onClose={onClose} />;
  return (
    <ConfirmDialog
      open
      title="Switch two-factor sign-in on"
      confirmLabel="Continue"
      barred={password === "" ? "Type your password first" : undefined}
      busy={begin.isPending}
      error={begin.error?.message.replace(/^password: /, "") ?? null}
      onClose={onClose}
      onConfirm={() => begin.mutate(password)}
    >
      <PasswordInput
        label="Password"
        autoComplete="current-password"
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        data-autofocus
        classNames={{ label: controls.label!, input: controls.tallInput! }}
      />
    </ConfirmDialog>
  );
}

interface SecretProps {
  secret: TwoFactorSecret;
  confirm: ReturnType<typeof useConfirmTwoFactor>;
  onClose: () => void;
}

function SecretDialog({ secret, confirm, onClose }: SecretProps) {
  const [code, setCode] = useState("");
  return (
    <ConfirmDialog
      open
      title="Add dlqadmin to your authenticator app"
      confirmLabel="Switch on"
      barred={code.trim() === "" ? "Type the code that the app shows" : undefined}
      busy={confirm.isPending}
      error={confirm.error?.message.replace(/^code: /, "") ?? null}
      onClose={onClose}
      onConfirm={() => confirm.mutate(code.trim())}
    >
      <div className={styles.fields}>
        <p className="s t2">Scan the QR code with the app, or copy the secret into it. Then type the code it shows.</p>
        <img className={styles.qr} src={secret.qr} alt="QR code of the secret" />
        <CopyField text={secret.secret} label="Secret" />
        <TextInput
          label="Code"
          inputMode="numeric"
          autoComplete="one-time-code"
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
          data-autofocus
          classNames={{ label: controls.label!, input: controls.input! }}
        />
        <p className="s t3">Your other sessions end when you switch it on. API tokens continue.</p>
      </div>
    </ConfirmDialog>
  );
}

function RecoveryCodesDialog({ codes, onClose }: { codes: string[]; onClose: () => void }) {
  return (
    <OnceDialog title="Your recovery codes" warning="Keep them now. They are not shown again." onClose={onClose}>
      <p className="s t2">Without your authenticator app, each of them signs you in once.</p>
      <ul className={styles.recovery} aria-label="Recovery codes">
        {codes.map((code) => (
          <li key={code}>
            <code className="mono">{code}</code>
          </li>
        ))}
      </ul>
    </OnceDialog>
  );
}
