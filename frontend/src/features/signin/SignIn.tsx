import { PasswordInput, TextInput } from "@mantine/core";
import { useEffect, useState } from "react";
import { ApiError } from "../../api/client";
import { useSession, useSessionEnded, useSignIn } from "../../api/session";
import { Button } from "../../ui/controls";
import { Logo } from "../../ui/Logo";
import { Strip } from "../../ui/Panel";
import styles from "./SignIn.module.css";

export function SignIn() {
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  const { data: session } = useSession();
  const lost = useSessionEnded();
  const ended = session?.ended ?? (lost ? "Your session has ended. Sign in again." : null);
  const signIn = useSignIn();
  const [waitS, wait] = useWait();
  return (
    <main className={styles.page}>
      <form
        className={styles.card}
        onSubmit={(event) => {
          event.preventDefault();
          if (waitS > 0) return;
          signIn.mutate(
            { username, password },
            {
              onError: (error) =>
                wait(error instanceof ApiError && error.status === 429 ? (error.retryAfterS ?? 0) : 0),
            },
          );
        }}
      >
        <div>
          <h1 className={styles.title}>
            <Logo /> dlqadmin
          </h1>
          <p className="s t3">
            {session
              ? `Sign in to cluster ${session.cluster}, ${session.environment.toLowerCase()}`
              : "Sign in to see dead letters"}
          </p>
        </div>
        {ended && <Strip tone="warn">{ended} You return to this page. Text that was not saved is lost.</Strip>}
        <TextInput
          label="User name"
          name="username"
          autoComplete="username"
          value={username}
          onChange={(event) => setUsername(event.currentTarget.value)}
          autoFocus
          classNames={{ label: styles.label!, input: styles.input! }}
        />
        <PasswordInput
          label="Password"
          name="password"
          autoComplete="current-password"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          classNames={{ label: styles.label!, input: styles.input! }}
        />
        {signIn.isError && (
          <p className="s failed" role="alert">
            {signIn.error.message}
          </p>
        )}
        {waitS > 0 && <p className="s t3">You can try again in {clock(waitS)}.</p>}
        <Button
          kind="primary"
          type="submit"
          busy={signIn.isPending}
          barred={waitS > 0 ? "Too many tries: wait first" : undefined}
        >
          Sign in
        </Button>
      </form>
    </main>
  );
}

/** Seconds until the server takes another try, counting down; and what sets them. */
function useWait(): [number, (seconds: number) => void] {
  const [{ now, end }, setTimes] = useState({ now: 0, end: 0 });
  const isOver = now >= end;
  useEffect(() => {
    if (isOver) return;
    const timer = window.setInterval(() => setTimes((times) => ({ ...times, now: Date.now() })), 1000);
    return () => window.clearInterval(timer);
  }, [isOver]);
  return [
    Math.max(0, Math.ceil((end - now) / 1000)),
    (seconds) => setTimes({ now: Date.now(), end: Date.now() + seconds * 1000 }),
  ];
}

function clock(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} min`;
}
