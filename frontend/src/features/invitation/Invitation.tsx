import { PasswordInput, TextInput } from "@mantine/core";
import { useState } from "react";
import { useNavigate, useParams } from "react-router";
import { useAcceptInvitation, useOffer, type Offer } from "../../api/people";
import { useSession } from "../../api/session";
import { dateMinute } from "../../lib/format";
import { useZone } from "../../lib/zone";
import { Button } from "../../ui/controls";
import controls from "../../ui/controls.module.css";
import { Logo } from "../../ui/Logo";
import { SkeletonRows } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import styles from "../signin/SignIn.module.css";

const MIN_LENGTH = 12;

/** The page of an invitation's link. It needs no sign-in. */
export function Invitation() {
  const token = useParams().token ?? "";
  const session = useSession(); // also sets the CSRF cookie, which the requests below need
  useTitle("Invitation");
  return (
    <main className={styles.pageFromTop}>
      <div className={styles.card}>
        <h1 className={styles.title}>
          <Logo /> dlqadmin
        </h1>
        {session.isPending ? <SkeletonRows rows={4} /> : <OfferForm token={token} />}
      </div>
    </main>
  );
}

function OfferForm({ token }: { token: string }) {
  const offer = useOffer(token);
  if (offer.isPending) return <SkeletonRows rows={4} />;
  if (offer.isError) {
    return (
      <>
        <p role="alert">{offer.error.message}</p>
        <Button to="/">Sign in</Button>
      </>
    );
  }
  return <AcceptForm token={token} offer={offer.data} />;
}

function AcceptForm({ token, offer }: { token: string; offer: Offer }) {
  const navigate = useNavigate();
  const { zone } = useZone();
  const accept = useAcceptInvitation();
  const [username, setUsername] = useState(offer.username ?? "");
  const [password, setPassword] = useState("");
  const [again, setAgain] = useState("");
  const barred = validate(username, password, again);
  return (
    <form
      style={{ display: "contents" }}
      onSubmit={(event) => {
        event.preventDefault();
        if (!barred)
          accept.mutate({ token, username, password }, { onSuccess: () => void navigate("/", { replace: true }) });
      }}
    >
      <p>{offerText(offer)}</p>
      <p className="s t3">The link works once, until {dateMinute(offer.expires_at, zone)}.</p>
      <TextInput
        label="User name"
        name="username"
        autoComplete="username"
        value={username}
        maxLength={150}
        readOnly={offer.username !== null}
        onChange={(event) => setUsername(event.currentTarget.value)}
        autoFocus={offer.username === null}
        classNames={{ label: controls.label!, input: controls.tallInput! }}
      />
      <PasswordInput
        label="Password"
        autoComplete="new-password"
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        classNames={{ label: controls.label!, input: controls.tallInput! }}
      />
      <PasswordInput
        label="Password, again"
        autoComplete="new-password"
        value={again}
        onChange={(event) => setAgain(event.currentTarget.value)}
        classNames={{ label: controls.label!, input: controls.tallInput! }}
      />
      {accept.isError && (
        <p className="s failed" role="alert">
          {accept.error.message.replace(/^(username|password): /, "")}
        </p>
      )}
      <Button kind="primary" type="submit" busy={accept.isPending} barred={barred}>
        {offer.username === null ? "Create the account" : "Set the password"}
      </Button>
    </form>
  );
}

function offerText({ inviter, roles, team, username }: Offer): string {
  if (username !== null) return `${inviter} lets you set a new password for ${username}.`;
  const where = team ?? "all teams";
  return `${inviter} invites you. Your ${roles.length === 1 ? "role" : "roles"} in ${where}: ${roles.join(", ")}.`;
}

/** Return the reason why the form cannot be submitted yet. */
function validate(username: string, password: string, again: string): string | undefined {
  if (username.trim() === "") return "Choose a user name first";
  if (password.length < MIN_LENGTH) return `The password needs at least ${MIN_LENGTH} characters`;
  return password === again ? undefined : "The two passwords differ";
}
