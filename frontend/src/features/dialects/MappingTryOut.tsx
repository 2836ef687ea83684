import type { TriedLetter, TryOut } from "../../api/dialects";
import { count, plural } from "../../lib/format";
import { Button, LinkButton } from "../../ui/controls";
import { LoadError } from "../../ui/LoadError";
import { Chip, Meter, Notice, Panel, SkeletonRows } from "../../ui/Panel";
import styles from "./MappingEditor.module.css";

interface TryOutProps {
  topic: string;
  tried: TryOut | undefined;
  error: Error | null;
  isWaiting: boolean;
  onLetter: (index: number) => void;
}

/** The newest letters of a topic as the mapping reads them: how many, why not the others, and one letter whole. */
export function MappingTryOut({ topic, tried, error, isWaiting, onLetter }: TryOutProps) {
  return (
    <Panel
      label="Try-out"
      title={
        <>
          <h2>Try-out</h2>
          <span className="s t3">
            the newest {tried ? plural(tried.letters, "letter") : "letters"} of <span className="mono">{topic}</span>;
            nothing is saved
          </span>
        </>
      }
      aside={tried?.letter && <LetterStepper letter={tried.letter} letters={tried.letters} onLetter={onLetter} />}
    >
      {error ? (
        <LoadError title="The mapping could not be tried" error={error} />
      ) : !tried ? (
        <SkeletonRows rows={6} />
      ) : tried.letters === 0 ? (
        <Notice title={`${topic} has no records`}>A mapping is tried on the records that Kafka still has.</Notice>
      ) : (
        <div aria-busy={isWaiting}>
          <Verdict tried={tried} onLetter={onLetter} />
          {tried.letter && <Letter letter={tried.letter} />}
        </div>
      )}
    </Panel>
  );
}

function LetterStepper({
  letter,
  letters,
  onLetter,
}: {
  letter: TriedLetter;
  letters: number;
  onLetter: (index: number) => void;
}) {
  return (
    <span className="row">
      <span className="s t2">
        Letter {letter.index + 1} of {letters}
      </span>
      <Button
        small
        barred={letter.index === 0 ? "This is the newest letter" : undefined}
        onClick={() => onLetter(letter.index - 1)}
      >
        Newer
      </Button>
      <Button
        small
        barred={letter.index + 1 >= letters ? "This is the oldest letter of the try-out" : undefined}
        onClick={() => onLetter(letter.index + 1)}
      >
        Older
      </Button>
    </span>
  );
}

function Verdict({ tried, onLetter }: { tried: TryOut; onLetter: (index: number) => void }) {
  const unread = tried.letters - tried.read;
  return (
    <div className={styles.verdict}>
      <div className={styles.figures}>
        <span>
          <b className="passed">{count(tried.read)}</b> read
        </span>
        <span>
          <b className={unread > 0 ? "failed" : "t3"}>{count(unread)}</b> not read
        </span>
        <span className="t2">
          {tried.read > 0 && `in ${plural(tried.groups, "group")} · `}without the mapping {count(tried.read_before)}
        </span>
        <Meter part={tried.read / tried.letters} colour="var(--passed)" height={5} />
      </div>
      {tried.reasons.length > 0 && (
        <ul className={styles.reasons} aria-label="Reasons">
          {tried.reasons.map((one) => (
            <li key={one.reason}>
              <b>{count(one.letters)}</b> <span>{one.reason}.</span>{" "}
              <LinkButton onClick={() => onLetter(one.first)}>Show the newest</LinkButton>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Letter({ letter }: { letter: TriedLetter }) {
  return (
    <div className={styles.letter}>
      <section aria-label="The letter in Kafka">
        <h3>
          In Kafka{" "}
          <span className="t3">
            partition {letter.partition}, offset {letter.offset}
          </span>
        </h3>
        <pre className={styles.bytes} tabIndex={0} aria-label="Value of the letter">
          {letter.value.is_null ? "null" : (letter.value.text ?? letter.value.base64)}
        </pre>
        {letter.headers.length > 0 && (
          <dl className={styles.headers}>
            {letter.headers.map((one, index) => (
              <div key={index}>
                <dt className="mono">{one.name}</dt>
                <dd className="mono">{one.is_null ? "null" : (one.text ?? one.base64)}</dd>
              </div>
            ))}
          </dl>
        )}
      </section>
      <section aria-label="The letter as the mapping reads it">
        <h3>
          As it is read{" "}
          {letter.missing ? (
            <Chip tone="failed">not read</Chip>
          ) : (
            letter.facts.length > 0 && <Chip tone="passed">read</Chip>
          )}
        </h3>
        {letter.missing && <p className="s failed">{letter.missing}.</p>}
        <dl className={styles.headers}>
          {letter.facts.map((fact) => (
            <div key={fact.fact}>
              <dt>{fact.label}</dt>
              <dd className={fact.problem ? "warn" : "mono"}>{fact.problem ?? fact.value}</dd>
            </div>
          ))}
        </dl>
      </section>
    </div>
  );
}
