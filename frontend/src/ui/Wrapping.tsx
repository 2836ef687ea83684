import { Fragment } from "react";

const AFTER = /(?<=[,;&?/{}[\]])/;
const MOST = 20_000; // characters: each separator of a text becomes an element

/** Text that has few spaces, such as JSON on one line: it may wrap behind what separates, so that words stay whole. */
export function Wrapping({ text }: { text: string }) {
  if (text.length > MOST) return text;
  return text.split(AFTER).map((piece, index) => (
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {piece}
    </Fragment>
  ));
}
