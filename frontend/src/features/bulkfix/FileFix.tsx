import { Checkbox } from "@mantine/core";
import { useState } from "react";
import { useNavigate } from "react-router";
import { exportUrl, useImport } from "../../api/bulkFixes";
import { ApiError } from "../../api/client";
import { newIdempotencyKey } from "../../api/replays";
import { plural } from "../../lib/format";
import { Button } from "../../ui/controls";
import styles from "./BulkFix.module.css";

/** The records as a file to be edited elsewhere, and the way back. */
export function FileFix({ selection, many }: { selection: number; many: number }) {
  const navigate = useNavigate();
  const upload = useImport();
  const [file, setFile] = useState<File | null>(null);
  const [replace, setReplace] = useState(false);
  const [key, setKey] = useState(newIdempotencyKey);
  /** The file may have come all the same: with the same key it is not taken twice. */
  const isOpen = (error: Error) => error instanceof ApiError && (error.status === 0 || error.status >= 500);
  const change = (act: () => void) => {
    act();
    setKey(newIdempotencyKey());
  };
  const go = () =>
    file &&
    upload.mutate(
      { file, replace, key },
      {
        onSuccess: ({ id }) => void navigate(`/bulk-fixes/${id}`),
        onError: (error) => isOpen(error) || setKey(newIdempotencyKey()),
      },
    );
  return (
    <ol className={styles.steps}>
      <li>
        <a href={exportUrl(selection)} download>
          Download {plural(many, "record")}
        </a>{" "}
        as NDJSON, up to 50 MB. Each line has a record’s key, value and headers in <code>base64</code>, and what is
        UTF-8 as <code>text</code> too.
      </li>
      <li>
        Edit the <code>text</code> or the <code>base64</code> of what shall change; the edited one counts. Leave{" "}
        <code>id</code> and <code>digest</code> as they are.
      </li>
      <li>
        <div className={styles.upload}>
          Upload it:
          <input
            type="file"
            aria-label="Edited file"
            accept=".ndjson,.jsonl,.json"
            onChange={({ currentTarget: { files } }) => change(() => setFile(files?.[0] ?? null))}
          />
          <Checkbox
            size="xs"
            label="Replace my existing drafts"
            checked={replace}
            onChange={({ currentTarget: { checked } }) => change(() => setReplace(checked))}
          />
          <span className="sp" />
          <Button
            kind="primary"
            barred={file ? undefined : "Choose the edited file first"}
            busy={upload.isPending}
            onClick={go}
          >
            Make drafts of the file
          </Button>
        </div>
        {upload.error && (
          <p className="s failed" role="alert">
            {upload.error.message.replace(/^file: /, "")}
          </p>
        )}
      </li>
    </ol>
  );
}
