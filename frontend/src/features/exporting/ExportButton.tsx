import { Radio } from "@mantine/core";
import { useRef, useState } from "react";
import { useNavigate } from "react-router";
import { streamUrl, useExport, useMayNotExport, type Format } from "../../api/exports";
import { newIdempotencyKey } from "../../api/replays";
import { useMayWrite } from "../../api/session";
import { plural } from "../../lib/format";
import { isUncounted, totalWords, type Total } from "../../lib/total";
import { Button, ConfirmDialog } from "../../ui/controls";
import styles from "./Exporting.module.css";

/** Up to so many are downloaded while they are read; more are written by a worker. */
const AT_ONCE = 10_000;

const FORMATS: { value: Format; label: string; holds: string }[] = [
  {
    value: "ndjson",
    label: "NDJSON",
    holds:
      "One JSON document a line: facts, trace, key, value and headers; exact bytes as base64, their text beside them.",
  },
  {
    value: "csv",
    label: "CSV",
    holds:
      "One row a record, for spreadsheets: the same without the trace. A cell that a spreadsheet would run gets an apostrophe.",
  },
  {
    value: "parquet",
    label: "Parquet",
    holds: "Typed columns with exact bytes, compressed; for Spark and other engines.",
  },
];

interface Props {
  /** What the list's address shows. */
  query: string;
  /** How many that are; undefined until they are counted. */
  total: Total | undefined;
}

/** Asks for a file of all that a filter matches, and says how it comes. */
export function ExportButton({ query, total }: Props) {
  const [open, setOpen] = useState(false);
  const barred = useMayNotExport() ?? nothing(total);
  return (
    <>
      <Button barred={barred} onClick={() => setOpen(true)}>
        Export{total && !isUncounted(total) && ` ${totalWords(total)}`}…
      </Button>
      {open && total && <ExportDialog query={query} total={total} onClose={() => setOpen(false)} />}
    </>
  );
}

/** Why there is nothing to export, if so. */
function nothing(total: Total | undefined): string | undefined {
  if (!total) return "There is no answer to export yet";
  return total.exact && total.count === 0 ? "Nothing matches" : undefined;
}

function ExportDialog({ query, total, onClose }: { query: string; total: Total; onClose: () => void }) {
  const navigate = useNavigate();
  const may = useMayWrite();
  const ask = useExport();
  const [format, setFormat] = useState<Format>("ndjson");
  const key = useRef(newIdempotencyKey());
  const atOnce = total.exact && total.count <= AT_ONCE;
  const records = total.exact
    ? plural(total.count, "record")
    : isUncounted(total)
      ? "all that match"
      : `${totalWords(total)} records`;
  const go = () => {
    if (!atOnce)
      return ask.mutate({ format, filter: query, key: key.current }, { onSuccess: () => void navigate("/exports") });
    download(streamUrl(format, query));
    onClose();
  };
  return (
    <ConfirmDialog
      open
      title={`Export ${records}`}
      confirmLabel={atOnce ? "Download" : "Write the file"}
      barred={atOnce || may.allowed ? undefined : may.reason}
      busy={ask.isPending}
      error={ask.error?.message ?? null}
      onClose={onClose}
      onConfirm={go}
    >
      <Radio.Group
        aria-label="Format"
        value={format}
        onChange={(next) => {
          setFormat(next as Format);
          key.current = newIdempotencyKey();
        }}
      >
        <div className={styles.formats}>
          {FORMATS.map((one) => (
            <Radio
              key={one.value}
              size="xs"
              value={one.value}
              label={one.label}
              description={one.holds}
              classNames={{ label: styles.label!, description: styles.description!, radio: styles.radio! }}
            />
          ))}
        </div>
      </Radio.Group>
      <p className="s t3">
        {atOnce
          ? "In the order they were indexed. The download begins at once."
          : "In the order they were indexed, up to this moment. A worker writes the file; it waits under Exports, with its progress, SHA-256 and manifest."}
      </p>
    </ConfirmDialog>
  );
}

function download(url: string): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = "";
  link.click();
}
