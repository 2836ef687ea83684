import { Notice } from "./Panel";

const REQUIRED_RIGHT = "It needs the right payload reader.";

/** Replaces content that the user has no right to see. */
export function WithheldNotice({ size }: { size?: string }) {
  return (
    <Notice title="Content withheld">
      {REQUIRED_RIGHT}
      {size && ` Its size: ${size}.`}
    </Notice>
  );
}

/** A record's key as text, or the word "withheld". */
export function KeyText({ of }: { of: { key_text: string | null; withheld: boolean } }) {
  if (of.withheld)
    return (
      <span className="t3" title={`Content withheld. ${REQUIRED_RIGHT}`}>
        withheld
      </span>
    );
  return <>{of.key_text ?? "null"}</>;
}
