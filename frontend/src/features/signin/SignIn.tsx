import { PasswordInput, TextInput } from "@mantine/core";
import { useState } from "react";
import { useSession, useSessionEnded, useSignIn } from "../../api/session";
import { Button } from "../../ui/controls";
import { Mark } from "../../ui/Mark";
import { Strip } from "../../ui/Panel";
import styles from "./SignIn.module.css";

export function SignIn() {
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  const { data: session } = useSession();
  const ended = useSessionEnded();
  const signIn = useSignIn();
  return (
    <main className={styles.page}>
      <form
        className={styles.card}
        onSubmit={(event) => {
          event.preventDefault();
          signIn.mutate({ username, password });
        }}
      >
        <div>
          <h1 className={styles.title}><Mark /> dlqadmin</h1>
          <p className="s t3">{session ? `Sign in to cluster ${session.cluster}, ${session.environment.toLowerCase()}` : "Sign in to see dead letters"}</p>
        </div>
        {ended && <Strip tone="warn">Your session has ended. Sign in, and this page comes back as its address says; what was typed and not saved is gone.</Strip>}
        <TextInput label="User name" name="username" autoComplete="username" value={username} onChange={(event) => setUsername(event.currentTarget.value)} autoFocus classNames={{ label: styles.label!, input: styles.input! }} />
        <PasswordInput label="Password" name="password" autoComplete="current-password" value={password} onChange={(event) => setPassword(event.currentTarget.value)} classNames={{ label: styles.label!, input: styles.input! }} />
        {signIn.isError && <p className="s failed" role="alert">{signIn.error.message}</p>}
        <Button kind="primary" type="submit" busy={signIn.isPending}>
          Sign in
        </Button>
      </form>
    </main>
  );
}
