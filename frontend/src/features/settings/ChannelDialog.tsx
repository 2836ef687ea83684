import { Checkbox, NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { useDeleteChannel, useRotateSecret, useSaveChannel, type Channel, type ChannelBody } from "../../api/channels";
import { newIdempotencyKey } from "../../api/replays";
import controls from "../../ui/controls.module.css";
import { CopyField } from "../../ui/CopyField";
import { ConfirmDialog } from "../../ui/Dialog";
import { OnceDialog } from "../../ui/OnceDialog";
import { CHANNEL_KINDS } from "./channelKinds";

/** What a dialog asks: to add a channel (null) or change it, to remove it, or to make a new secret. */
export type ChannelQuestion = { act: "save"; channel: Channel | null } | { act: "remove" | "rotate"; channel: Channel };

/** Asks for a change of a channel, and shows the secret of a webhook once. */
export function ChannelDialog({ question, onClose }: { question: ChannelQuestion; onClose: () => void }) {
  const [secret, setSecret] = useState<string | null>(null);
  const done = (next: string | null) => (next ? setSecret(next) : onClose());
  if (secret !== null) return <SecretDialog secret={secret} onClose={onClose} />;
  if (question.act === "remove") return <RemoveDialog channel={question.channel} onClose={onClose} />;
  if (question.act === "rotate") return <RotateDialog channel={question.channel} onClose={onClose} onSecret={done} />;
  return <SaveDialog channel={question.channel} onClose={onClose} onSaved={done} />;
}

function SaveDialog({
  channel,
  onClose,
  onSaved,
}: {
  channel: Channel | null;
  onClose: () => void;
  onSaved: (secret: string | null) => void;
}) {
  const save = useSaveChannel();
  const [key] = useState(newIdempotencyKey);
  const [body, setBody] = useState<Omit<ChannelBody, "may_have_samples">>({
    name: channel?.name ?? "",
    kind: channel?.kind ?? "webhook",
    target: "",
  });
  const [chosen, setChosen] = useState<boolean | null>(null);
  const words = CHANNEL_KINDS[body.kind];
  const keepsTarget = channel !== null && channel.kind === body.kind;
  // The permission is for the stored target, so it ends when another one is entered.
  const maySample = chosen ?? (keepsTarget && !body.target.trim() && channel.may_have_samples);
  const put = (change: Partial<ChannelBody>) => {
    save.reset();
    setBody({ ...body, ...change });
  };
  const missing = !body.name.trim() ? "Enter a name first" : undefined;
  return (
    <ConfirmDialog
      open
      title={channel ? `Change ${channel.name}` : "Add a channel"}
      confirmLabel={channel ? "Save" : "Add channel"}
      barred={missing ?? (body.target.trim() || keepsTarget ? undefined : `Enter the ${words.target} first`)}
      busy={save.isPending}
      error={save.error?.message ?? null}
      onClose={onClose}
      onConfirm={() =>
        save.mutate(
          {
            id: channel?.id,
            body: { ...body, name: body.name.trim(), target: body.target.trim(), may_have_samples: maySample },
            key,
          },
          { onSuccess: ({ secret }) => onSaved(secret) },
        )
      }
    >
      <TextInput
        label="Name"
        value={body.name}
        maxLength={100}
        data-autofocus
        onChange={(event) => put({ name: event.currentTarget.value })}
        classNames={{ label: controls.label!, input: controls.input! }}
      />
      <NativeSelect
        label="Kind"
        value={body.kind}
        data={Object.entries(CHANNEL_KINDS).map(([value, { label }]) => ({ value, label }))}
        onChange={(event) => put({ kind: event.currentTarget.value as ChannelBody["kind"] })}
        mt="sm"
        classNames={{ label: controls.label!, input: controls.input! }}
      />
      <TextInput
        label={words.target}
        description={keepsTarget ? `Stored, not shown. Leave it empty to keep it. ${words.hint}` : words.hint}
        value={body.target}
        maxLength={2000}
        placeholder={keepsTarget ? "stored, not shown" : ""}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => put({ target: event.currentTarget.value })}
        mt="sm"
        classNames={{ label: controls.label!, input: `${controls.input} mono` }}
      />
      <Checkbox
        size="xs"
        label="May show masked samples"
        description="Messages about a group show up to 3 records with their fields masked, if the alert rule wants it."
        checked={maySample}
        onChange={(event) => setChosen(event.currentTarget.checked)}
        mt="sm"
      />
    </ConfirmDialog>
  );
}

function RemoveDialog({ channel, onClose }: { channel: Channel; onClose: () => void }) {
  const remove = useDeleteChannel();
  return (
    <ConfirmDialog
      open
      danger
      title={`Remove ${channel.name}`}
      confirmLabel="Remove"
      busy={remove.isPending}
      error={remove.error?.message ?? null}
      onClose={onClose}
      onConfirm={() => remove.mutate(channel.id, { onSuccess: onClose })}
    >
      Messages that wait for it are given up. The log of messages stays. A channel that a rule tells cannot be removed.
    </ConfirmDialog>
  );
}

function RotateDialog({
  channel,
  onClose,
  onSecret,
}: {
  channel: Channel;
  onClose: () => void;
  onSecret: (secret: string | null) => void;
}) {
  const rotate = useRotateSecret();
  return (
    <ConfirmDialog
      open
      title={`New secret of ${channel.name}`}
      confirmLabel="Make a new secret"
      busy={rotate.isPending}
      error={rotate.error?.message ?? null}
      onClose={onClose}
      onConfirm={() => rotate.mutate(channel.id, { onSuccess: ({ secret }) => onSecret(secret) })}
    >
      Messages are signed with the former secret too for 24 h.
    </ConfirmDialog>
  );
}

function SecretDialog({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <OnceDialog title="Secret of the webhook" warning="Copy the secret now. It is not shown again." onClose={onClose}>
      <CopyField text={secret} label="the secret" />
      <p className="s t3">The receiver verifies signatures with it.</p>
    </OnceDialog>
  );
}
