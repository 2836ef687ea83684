import { NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { useChangeTracker, useWebhooks, type Tracker } from "../../api/ownership";
import controls from "../../ui/controls.module.css";
import { ConfirmDialog } from "../../ui/Dialog";

/** The tracker that a dialog changes or removes; null adds one. */
export interface TrackerQuestion {
  tracker: Tracker | null;
  remove: boolean;
}

const EXAMPLE = "https://issues.example.org/new?title={title}&body={message}%0A{link}";
const HOLES = "May contain {title} {message} {group} {topic} {connector} {link}";

/** Asks for the name, the template and the webhook of an issue tracker, or whether to remove it. */
export function TrackerDialog({ question, onClose }: { question: TrackerQuestion; onClose: () => void }) {
  const { tracker, remove } = question;
  const change = useChangeTracker();
  const { data: webhooks } = useWebhooks();
  const [name, setName] = useState(tracker?.name ?? "");
  const [template, setTemplate] = useState(tracker?.template ?? "");
  const [channel, setChannel] = useState(tracker?.channel ?? null);
  const body = remove ? null : { name: name.trim(), template: template.trim(), channel };
  return (
    <ConfirmDialog
      open
      title={remove ? `Remove ${tracker?.name}` : tracker ? `Change ${tracker.name}` : "Add an issue tracker"}
      confirmLabel={remove ? "Remove" : "Save"}
      danger={remove}
      barred={remove || (name.trim() && template.trim()) ? undefined : "Enter a name and a template first"}
      busy={change.isPending}
      error={change.error?.message ?? null}
      onClose={onClose}
      onConfirm={() => change.mutate({ id: tracker?.id ?? null, body }, { onSuccess: onClose })}
    >
      {remove ? (
        "Groups have no button for new issues in this tracker any more. Links to its issues stay."
      ) : (
        <>
          <TextInput
            label="Name"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            maxLength={60}
            data-autofocus
            classNames={{ label: controls.label!, input: controls.input! }}
          />
          <TextInput
            label="Address of the form for a new issue"
            description={HOLES}
            placeholder={EXAMPLE}
            value={template}
            onChange={(event) => setTemplate(event.currentTarget.value)}
            maxLength={1000}
            mt="sm"
            spellCheck={false}
            classNames={{ label: controls.label!, input: `${controls.input} mono` }}
          />
          <NativeSelect
            label="Webhook that creates issues"
            description="A channel of the kind webhook. It answers with the address and the name of the new issue."
            value={channel === null ? "" : String(channel)}
            onChange={(event) =>
              setChannel(event.currentTarget.value === "" ? null : Number(event.currentTarget.value))
            }
            data={[
              { value: "", label: "None" },
              ...(webhooks?.map((one) => ({ value: String(one.id), label: one.name })) ?? []),
            ]}
            mt="sm"
            classNames={{ label: controls.label!, input: controls.input! }}
          />
        </>
      )}
    </ConfirmDialog>
  );
}
