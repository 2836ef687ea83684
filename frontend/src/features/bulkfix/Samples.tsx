import { Suspense, lazy } from "react";
import { Link } from "react-router";
import type { SampleResult, Sample } from "../../api/bulkFixes";
import type { Message } from "../../api/replayTypes";
import { fromBase64 } from "../../lib/bytes";
import { asText, toHex } from "../../lib/editing";
import { bytes } from "../../lib/format";
import type { Tone } from "../../lib/states";
import { Bones, Chip } from "../../ui/Panel";
import { KeyText } from "../../ui/Withheld";
import styles from "./BulkFix.module.css";

const SideBySide = lazy(() => import("./SideBySide"));
const TONES: Record<SampleResult, Tone> = { changed: "passed", untouched: "plain", invalid: "failed" };
const LABELS: Record<SampleResult, string> = { changed: "Changed", untouched: "Untouched", invalid: "Invalid" };
const ORDER: SampleResult[] = ["changed", "invalid", "untouched"];

/** Each record of the sample, before and after; what changed first. */
export function Samples({ sample }: { sample: readonly Sample[] }) {
  const sorted = [...sample].sort((one, other) => ORDER.indexOf(one.what) - ORDER.indexOf(other.what));
  return (
    <ul className={styles.samples}>
      {sorted.map((one) => (
        <li key={one.dead_letter.id} data-testid="sample" data-what={one.what}>
          <div className={styles.sampleHead}>
            <Chip tone={TONES[one.what]}>{LABELS[one.what]}</Chip>
            <Link className="mono s" to={`/records/${one.dead_letter.id}`}>
              <KeyText of={one.dead_letter} />
            </Link>
            <span className="s t3">
              {one.what === "untouched" ? "byte for byte as it was" : one.why || one.paths.join(", ")}
            </span>
            <span className="sp" />
            {one.drafted && <span className="s t3">you have a draft</span>}
          </div>
          {one.before && one.after && (
            <Suspense fallback={<Bones rows={2} height={16} />}>
              {parts(one.before, one.after).map(([name, before, after]) => (
                <SideBySide key={name} name={name} before={before} after={after} />
              ))}
            </Suspense>
          )}
        </li>
      ))}
    </ul>
  );
}

/** The parts of the message that differ, as text. */
function parts(before: Message, after: Message): [string, string, string][] {
  const rows: [string, string, string][] = [
    ["Key", shown(before.key), shown(after.key)],
    ["Headers", headers(before), headers(after)],
    ["Value", shown(before.value), shown(after.value)],
  ];
  return rows.filter(([, one, other]) => one !== other);
}

function headers(message: Message): string {
  return message.headers.map(({ name, value }) => `${name}: ${shown(value)}`).join("\n");
}

function shown({ base64, size }: Message["value"]): string {
  if (base64 === null) return size === null ? "null" : bytes(size);
  const found = fromBase64(base64);
  return asText(found) ?? toHex(found);
}
