import { PasswordInput, TextInput } from "@mantine/core";
import { useEffect, useState } from "react";
import { useLocation } from "react-router";
import { ApiError } from "../../api/client";
import type { SignInOptions } from "../../api/schema";
import { useSession, useSessionEnded, useSignIn } from "../../api/session";
import { useSignInOptions } from "../../api/signIn";
import { Button } from "../../ui/controls";
import controls from "../../ui/controls.module.css";
import { Logo } from "../../ui/Logo";
import { Strip } from "../../ui/Panel";
import styles from "./SignIn.module.css";

/** The sign-in screen. */
export function SignIn() {
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  const { data: session } = useSession();
  const sessionEnded = useSessionEnded();
  const ended = session?.ended ?? (sessionEnded ? "Your session has ended. Sign in again." : null);
  const [code, setCode] = useState<string>();
  const { data: options } = useSignInOptions();
  const signIn = useSignIn();
  const [waitS, startWait] = useRetryCountdown();
  return (
    <main className={styles.page}>
      <form
        className={styles.card}
        onSubmit={(event) => {
          event.preventDefault();
          if (waitS > 0) return;
          signIn.mutate(
            { username, password, ...(code !== undefined && { code: code.trim() }) },
            {
              onError: (error) => {
                startWait(error instanceof ApiError && error.status === 429 ? (error.retryAfterS ?? 0) : 0);
                if (needsCode(error)) setCode("");
              },
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
        {ended && <Strip tone="warn">{ended} After sign-in you return to this page. Unsaved text is lost.</Strip>}
        {options?.refusal && (
          <p className="s failed" role="alert">
            {options.refusal}
          </p>
        )}
        {options && options.providers.length > 0 && <ProviderLinks options={options} />}
        <TextInput
          label="User name"
          name="username"
          autoComplete="username"
          value={username}
          onChange={(event) => setUsername(event.currentTarget.value)}
          autoFocus
          classNames={{ label: controls.label!, input: controls.tallInput! }}
        />
        <PasswordInput
          label="Password"
          name="password"
          autoComplete="current-password"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          classNames={{ label: controls.label!, input: controls.tallInput! }}
        />
        {code !== undefined && (
          <TextInput
            label="Code"
            description="From your authenticator app, or one of your recovery codes"
            name="code"
            autoComplete="one-time-code"
            value={code}
            onChange={(event) => setCode(event.currentTarget.value)}
            autoFocus
            classNames={{ label: controls.label!, input: controls.tallInput! }}
          />
        )}
        {signIn.isError && (
          <p className="s failed" role="alert">
            {signIn.error.message}
          </p>
        )}
        {waitS > 0 && <p className="s t3">You can try again in {minutesAndSeconds(waitS)}.</p>}
        <Button
          kind="primary"
          type="submit"
          busy={signIn.isPending}
          barred={waitS > 0 ? "Too many attempts. Wait, then try again" : undefined}
        >
          Sign in
        </Button>
      </form>
    </main>
  );
}

/** A button for each provider. Its page returns to the present address. */
function ProviderLinks({ options }: { options: SignInOptions }) {
  const { pathname, search } = useLocation();
  const next = encodeURIComponent(pathname + search);
  return (
    <div className={styles.providers}>
      {options.providers.map(({ name, title, path }) => (
        <Button key={name} kind="primary" href={`${path}?next=${next}`}>
          Sign in with {title}
        </Button>
      ))}
      <p className={styles.or}>{options.local ? "or with a password" : "or as an administrator, with a password"}</p>
    </div>
  );
}

/** Return whether the server asks for a code of the authenticator app, or for another one. */
function needsCode(error: Error): boolean {
  return error instanceof ApiError && ["code_required", "code_wrong"].includes(error.problem.code ?? "");
}

/** Return the seconds until the server accepts another attempt, and a function that starts the countdown. */
function useRetryCountdown(): [number, (seconds: number) => void] {
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

function minutesAndSeconds(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} min`;
}
