import { PasswordInput } from "@mantine/core";
import { useState } from "react";
import { useChangePassword } from "../../api/account";
import { Button } from "../../ui/controls";
import controls from "../../ui/controls.module.css";
import { Strip } from "../../ui/Panel";
import styles from "./Account.module.css";

const MIN_LENGTH = 12;
const EMPTY = { current: "", new: "", again: "" };

/** A form to change the user's own password. */
export function PasswordForm({ username }: { username: string }) {
  const [values, setValues] = useState(EMPTY);
  const change = useChangePassword();
  const field = (name: keyof typeof EMPTY, label: string, autoComplete: string) => (
    <PasswordInput
      label={label}
      autoComplete={autoComplete}
      value={values[name]}
      onChange={({ currentTarget: { value } }) => {
        setValues({ ...values, [name]: value });
        change.reset();
      }}
      classNames={{ label: controls.label!, input: controls.tallInput! }}
    />
  );
  const barred = validate(values);
  return (
    <form
      className={styles.body}
      onSubmit={(event) => {
        event.preventDefault();
        if (!barred) change.mutate({ current: values.current, new: values.new }, { onSuccess: () => setValues(EMPTY) });
      }}
    >
      <input type="text" name="username" autoComplete="username" value={username} readOnly hidden />
      {field("current", "Current password", "current-password")}
      {field("new", "New password", "new-password")}
      {field("again", "New password, again", "new-password")}
      {change.isError && (
        <p className="s failed" role="alert">
          {change.error.message.replace(/^(current|new): /, "")}
        </p>
      )}
      {change.isSuccess && (
        <div className={styles.strip}>
          <Strip tone="passed">
            Your password is changed. This session continues. Your other sessions and all your API tokens have ended.
          </Strip>
        </div>
      )}
      <p className="s t3">A password change ends your other sessions and all your API tokens.</p>
      <div>
        <Button kind="primary" type="submit" busy={change.isPending} barred={barred}>
          Change password
        </Button>
      </div>
    </form>
  );
}

/** Return the reason why the form cannot be submitted yet. */
function validate({ current, new: next, again }: typeof EMPTY): string | undefined {
  if (current === "") return "Type your current password first";
  if (next.length < MIN_LENGTH) return `The new password needs at least ${MIN_LENGTH} characters`;
  return next === again ? undefined : "The two new passwords differ";
}
