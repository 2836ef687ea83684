import { Radio } from "@mantine/core";
import { useRef, useState } from "react";
import { useNavigate } from "react-router";
import { streamUrl, useExport, useMayNotExport, type Format } from "../../api/exports";
import { newIdempotencyKey } from "../../api/replays";
import { useMayWrite } from "../../api/session";
import { plural } from "../../lib/format";
import { isUncounted, totalWords, type Total } from "../../lib/total";
import { Button, ConfirmDialog } from "../../ui/controls";
import styles from "./ExportButton.module.css";

/** The server streams an export of up to this many records; a worker writes a larger one to a file. */
const MAX_STREAMED_RECORDS = 10_000;

const FORMATS: { value: Format; label: string; description: string }[] = [
  {
    value: "ndjson",
    label: "NDJSON",
    description:
      "One JSON document per line: facts, trace, key, value and headers. Bytes are base64, with their text beside them.",
  },
  {
    value: "csv",
    label: "CSV",
    description:
      "One row per record, for spreadsheets: the same fields without the trace. An apostrophe disables cells that look like formulas.",
  },
  {
    value: "parquet",
    label: "Parquet",
    description: "Typed, compressed columns with the exact bytes, for Spark and other engines.",
  },
];

interface Props {
  /** The query string of the list. */
  query: string;
  /** The number of matching records; undefined until it is known. */
  total: Total | undefined;
}

/** A button that exports all records of a filter to a file. */
export function ExportButton({ query, total }: Props) {
  const [open, setOpen] = useState(false);
  const barred = useMayNotExport() ?? emptyReason(total);
  return (
    <>
      <Button barred={barred} onClick={() => setOpen(true)}>
        Export{total && !isUncounted(total) && ` ${totalWords(total)}`}…
      </Button>
      {open && total && <ExportDialog query={query} total={total} onClose={() => setOpen(false)} />}
    </>
  );
}

/** Return the reason why there is nothing to export, or undefined. */
function emptyReason(total: Total | undefined): string | undefined {
  if (!total) return "The records are not loaded yet";
  return total.exact && total.count === 0 ? "No records match" : undefined;
}

function ExportDialog({ query, total, onClose }: { query: string; total: Total; onClose: () => void }) {
  const navigate = useNavigate();
  const may = useMayWrite();
  const createExport = useExport();
  const [format, setFormat] = useState<Format>("ndjson");
  const key = useRef(newIdempotencyKey());
  const isStreamed = total.exact && total.count <= MAX_STREAMED_RECORDS;
  const records = total.exact
    ? plural(total.count, "record")
    : isUncounted(total)
      ? "all matching records"
      : `${totalWords(total)} records`;
  const submit = () => {
    if (!isStreamed)
      return createExport.mutate(
        { format, filter: query, key: key.current },
        { onSuccess: () => void navigate("/exports") },
      );
    download(streamUrl(format, query));
    onClose();
  };
  return (
    <ConfirmDialog
      open
      title={`Export ${records}`}
      confirmLabel={isStreamed ? "Download" : "Write the file"}
      barred={isStreamed || may.allowed ? undefined : may.reason}
      busy={createExport.isPending}
      error={createExport.error?.message ?? null}
      onClose={onClose}
      onConfirm={submit}
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
          {FORMATS.map((option) => (
            <Radio
              key={option.value}
              size="xs"
              value={option.value}
              label={option.label}
              description={option.description}
              classNames={{ label: styles.label!, description: styles.description!, radio: styles.radio! }}
            />
          ))}
        </div>
      </Radio.Group>
      <p className="s t3">
        {isStreamed
          ? "The file contains the records in index order. The download starts immediately."
          : "The file contains the records indexed so far, in index order. A worker writes it. The Exports screen shows its progress, SHA-256 and manifest."}
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
