import { Fragment } from "react";

const SEPARATOR = /(?<=[,;&?/{}[\]])/;
const MAX_CHARACTERS = 20_000; // characters: each separator of a text becomes an element

/** Text that has few spaces, such as JSON on one line: it may wrap behind what separates, so that words stay whole. */
export function WrappingText({ text }: { text: string }) {
  if (text.length > MAX_CHARACTERS) return text;
  return text.split(SEPARATOR).map((piece, index) => (
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {piece}
    </Fragment>
  ));
}
