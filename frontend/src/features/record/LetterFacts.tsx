import { Fragment } from "react";
import { Link } from "react-router";
import type { DeadLetter } from "../../api/types";
import { recordsWith, type Field } from "../../lib/filter";

/** Further facts as the end of a sentence; each links to the records with the same value. */
export function LetterFacts({ facts }: { facts: DeadLetter["facts"] }) {
  return facts.map(({ name, label, value }) => (
    <Fragment key={name}>
      , {label.toLowerCase()} <Link to={recordsWith(name as Field, value)}>{value}</Link>
    </Fragment>
  ));
}
