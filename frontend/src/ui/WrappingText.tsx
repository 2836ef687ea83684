import { Fragment } from "react";

const SEPARATOR = /(?<=[,;&?/{}[\]])/;
const MAX_CHARACTERS = 20_000; // each separator becomes an element, so very long text would slow the page down

/** Text with few spaces, such as JSON on one line: it wraps after separators instead of within words. */
export function WrappingText({ text }: { text: string }) {
  if (text.length > MAX_CHARACTERS) return text;
  return text.split(SEPARATOR).map((piece, index) => (
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {piece}
    </Fragment>
  ));
}
