import { useState } from "react";
import { useTwoFactor } from "../../api/twoFactor";
import { plural } from "../../lib/format";
import { Button } from "../../ui/controls";
import { Panel } from "../../ui/Panel";
import styles from "./Account.module.css";
import { EndTwoFactorDialog } from "./EndTwoFactorDialog";
import { TwoFactorDialog } from "./TwoFactorDialog";

/** Two-factor sign-in of the user's account: its state, and buttons that switch it on or off. */
export function TwoFactorPanel() {
  const { data } = useTwoFactor();
  const [dialog, setDialog] = useState<"on" | "off">();
  if (!data) return null;
  return (
    <Panel title="Two-factor sign-in" label="Two-factor sign-in">
      <div className={styles.body}>
        <p className="s t2">
          {data.enabled
            ? `On. A sign-in needs your password and a code of your authenticator app. ${plural(data.recovery_codes_left, "recovery code")} left.`
            : "Off. When it is on, a sign-in needs your password and a code of an authenticator app."}
        </p>
        <div>
          {data.enabled ? (
            <Button onClick={() => setDialog("off")}>Switch off…</Button>
          ) : (
            <Button onClick={() => setDialog("on")}>Switch on…</Button>
          )}
        </div>
      </div>
      {dialog === "on" && <TwoFactorDialog onClose={() => setDialog(undefined)} />}
      {dialog === "off" && <EndTwoFactorDialog onClose={() => setDialog(undefined)} />}
    </Panel>
  );
}
