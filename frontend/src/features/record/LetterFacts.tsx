import { Fragment } from "react";
import { Link } from "react-router";
import type { DeadLetter } from "../../api/types";
import { recordsWith, type Field } from "../../lib/filter";

/** The facts without a place of their own, as the end of a sentence; each leads to the records that share it. */
export function LetterFacts({ facts }: { facts: DeadLetter["facts"] }) {
  return facts.map(({ name, label, value }) => (
    <Fragment key={name}>
      , {label.toLowerCase()} <Link to={recordsWith(name as Field, value)}>{value}</Link>
    </Fragment>
  ));
}
