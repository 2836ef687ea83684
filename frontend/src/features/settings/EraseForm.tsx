import { Checkbox, TextInput, Textarea } from "@mantine/core";
import { useState } from "react";
import { useErase, usePreviewErasure, type ErasedChoice, type ErasurePreview } from "../../api/erasures";
import { count, plural } from "../../lib/format";
import { Button, Choice } from "../../ui/controls";
import controls from "../../ui/controls.module.css";
import { Facts, Panel, Strip } from "../../ui/Panel";
import styles from "./Erase.module.css";

type Way = "text" | "base64" | "filter";

const WAYS = [
  { value: "text", label: "Key" },
  { value: "base64", label: "Key as base64" },
  { value: "filter", label: "Query" },
] as const;
const LABELS: Record<Way, { label: string; description: string }> = {
  text: { label: "Exact key", description: "The key of the records, as text." },
  base64: { label: "Exact bytes of the key", description: "The key of the records, as base64." },
  filter: {
    label: "Query or address",
    description: "A query as on the records screen, or its address after the question mark. Without a time: 7 days.",
  },
};
const FIELDS = { label: controls.label!, input: `${controls.input} mono` };

/** Asks for a key or a query, shows what would be erased, and erases it after a typed confirmation. */
export function EraseForm() {
  const [way, setWay] = useState<Way>("text");
  const [text, setText] = useState("");
  const [sameKeys, setSameKeys] = useState(false);
  const [future, setFuture] = useState(false);
  const preview = usePreviewErasure();
  const choice = choiceOf(way, text, sameKeys, future);
  const change = (act: () => void) => {
    act();
    preview.reset(); // a preview counts for what it was asked
  };
  return (
    <Panel label="Erase data" title={<h2>What to erase</h2>}>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (text) preview.mutate(choice);
        }}
      >
        <div>
          <Choice label="Choose by" value={way} options={WAYS} onChange={(next) => change(() => setWay(next))} />
        </div>
        <TextInput
          {...LABELS[way]}
          value={text}
          autoComplete="off"
          onChange={(event) => {
            const { value } = event.currentTarget;
            change(() => setText(value));
          }}
          classNames={FIELDS}
        />
        {way === "filter" ? (
          <Checkbox
            size="xs"
            label="Also all other dead letters with the keys of these records"
            checked={sameKeys}
            onChange={(event) => {
              const { checked } = event.currentTarget;
              change(() => setSameKeys(checked));
            }}
          />
        ) : (
          <Checkbox
            size="xs"
            label="Index future dead letters with this key without their content"
            checked={future}
            onChange={(event) => {
              const { checked } = event.currentTarget;
              change(() => setFuture(checked));
            }}
          />
        )}
        <div>
          <Button type="submit" barred={text ? undefined : "Enter a key or a query first"} busy={preview.isPending}>
            {preview.isPending ? "Counting…" : "Preview"}
          </Button>
        </div>
        {preview.error && <Strip tone="failed">{preview.error.message}</Strip>}
      </form>
      {preview.data && (
        <Confirmation
          key={preview.submittedAt}
          preview={preview.data}
          choice={choice}
          onDone={() => change(() => setText(""))}
        />
      )}
    </Panel>
  );
}

/** What would be erased, and the confirmation: a reason and the number of dead letters. */
function Confirmation({
  preview,
  choice,
  onDone,
}: {
  preview: ErasurePreview;
  choice: ErasedChoice;
  onDone: () => void;
}) {
  const erase = useErase();
  const [key] = useState(() => crypto.randomUUID());
  const [reason, setReason] = useState("");
  const [typed, setTyped] = useState("");
  const barred = barredBy(preview, reason, typed);
  const submit = () =>
    erase.mutate({ choice, reason: reason.trim(), count: preview.count, key }, { onSuccess: onDone });
  return (
    <form
      className={styles.preview}
      data-testid="erase-preview"
      onSubmit={(event) => {
        event.preventDefault();
        if (!barred) submit();
      }}
    >
      <Facts rows={factsOf(preview)} />
      {preview.running_replays.length > 0 && (
        <Strip tone="warn">
          {preview.running_replays.join(", ")} {preview.running_replays.length === 1 ? "has" : "have"} some of these
          records and {preview.running_replays.length === 1 ? "has" : "have"} not ended. Wait or cancel first.
        </Strip>
      )}
      {preview.count > 0 && (
        <>
          <Strip tone="failed">
            This cannot be undone. Erased records cannot be replayed. What Kafka still has is listed in the receipt.
          </Strip>
          <Textarea
            label="Reason"
            description="Everybody who reads the audit trail sees it. Do not name the person."
            value={reason}
            rows={2}
            onChange={(event) => setReason(event.currentTarget.value)}
            classNames={{ label: controls.label!, input: controls.input! }}
          />
          <TextInput
            label={`Type ${preview.count} to confirm`}
            value={typed}
            inputMode="numeric"
            autoComplete="off"
            onChange={(event) => setTyped(event.currentTarget.value)}
            classNames={FIELDS}
          />
          <div>
            <Button kind="danger" type="submit" barred={barred} busy={erase.isPending}>
              {erase.isPending ? "Erasing…" : `Erase ${plural(preview.count, "record")}`}
            </Button>
          </div>
        </>
      )}
      {erase.error && <Strip tone="failed">{erase.error.message}</Strip>}
    </form>
  );
}

/** The query as the API takes it: an address stays as it is, a query of the search bar becomes one. */
function choiceOf(way: Way, text: string, sameKeys: boolean, future: boolean): ErasedChoice {
  if (way === "text") return { key_text: text, future };
  if (way === "base64") return { key_base64: text.trim(), future };
  const query = text.trim().replace(/^[^?]*\?/, "");
  const isAddress = query !== text.trim() || /^[a-z_]+=/.test(query);
  return {
    filter: isAddress ? query : new URLSearchParams({ q: query }).toString(),
    include_origin_key: sameKeys,
  };
}

function barredBy(preview: ErasurePreview, reason: string, typed: string): string | undefined {
  if (preview.running_replays.length > 0) return "A replay has not ended";
  if (!reason.trim()) return "Enter a reason first";
  return typed.trim() === String(preview.count) ? undefined : `Type ${preview.count} to confirm`;
}

function factsOf(preview: ErasurePreview): [string, string][] {
  const before = preview.erased_before;
  return [
    ["Records", `${count(preview.count)}${before > 0 ? `, and ${count(before)} that were erased before` : ""}`],
    ["Drafts", count(preview.drafts + preview.replaced_drafts)],
    ["Edited messages of replays", count(preview.item_payloads)],
    ["Export files to delete", count(preview.exports)],
    ["Results of rehearsals", count(preview.rehearsals)],
    ["Bulk fixes with reasons", count(preview.bulk_fix_reasons)],
  ];
}
