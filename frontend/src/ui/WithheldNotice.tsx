import { Notice } from "./Panel";

const REQUIRED_RIGHT = "It needs the right payload reader.";

/** The box in place of content that the reader may not see. */
export function WithheldNotice({ size }: { size?: string }) {
  return (
    <Notice title="Content withheld">
      {REQUIRED_RIGHT}
      {size && ` Its size: ${size}.`}
    </Notice>
  );
}

/** A key as text; a withheld key says so. */
export function KeyText({ of }: { of: { key_text: string | null; withheld: boolean } }) {
  if (of.withheld)
    return (
      <span className="t3" title={`Content withheld. ${REQUIRED_RIGHT}`}>
        withheld
      </span>
    );
  return <>{of.key_text ?? "null"}</>;
}
