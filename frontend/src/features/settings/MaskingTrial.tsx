import { TextInput } from "@mantine/core";
import { useState, type KeyboardEvent } from "react";
import { Link } from "react-router";
import { usePreviewMaskingRule, type MaskingPreview, type MaskingRuleBody } from "../../api/masking";
import { Button } from "../../ui/controls";
import controls from "../../ui/controls.module.css";
import { Panel, Strip } from "../../ui/Panel";
import styles from "./Masking.module.css";

/** The preview of an unsaved rule: its effect on the newest records of a topic, and one of them before and after. */
export function MaskingTrial({ body, name }: { body: MaskingRuleBody; name: string }) {
  const preview = usePreviewMaskingRule();
  const [topic, setTopic] = useState("");
  const [person, setPerson] = useState("");
  const [index, setIndex] = useState(0);
  // A preview is of the rule, topic and person that it was asked for.
  const asked = preview.variables;
  const isCurrent = asked?.rule === body && asked.topic === topic && asked.person === (person || null);
  const data = isCurrent ? preview.data : undefined;
  const show = (next: number) => {
    setIndex(next);
    preview.mutate({ rule: body, topic, person: person || null, index: next });
  };
  const walk = (event: KeyboardEvent) => {
    if (!data || event.target instanceof HTMLInputElement) return;
    if (event.key === "j" && index + 1 < data.of) show(index + 1);
    if (event.key === "k" && index > 0) show(index - 1);
  };
  const classNames = { label: controls.label!, input: `${controls.input} mono` };
  return (
    <div onKeyDown={walk}>
      <Panel
        label="Preview"
        title={`Preview of ${name}`}
        aside={
          data && (
            <>
              <Button
                small
                barred={index > 0 ? undefined : "This is the newest record"}
                onClick={() => show(index - 1)}
              >
                ‹ k
              </Button>
              <Button
                small
                barred={index + 1 < data.of ? undefined : "This is the last record"}
                onClick={() => show(index + 1)}
              >
                j ›
              </Button>
            </>
          )
        }
      >
        <div className={styles.asked}>
          <TextInput
            label="Dead letter topic"
            placeholder="orders.dlq"
            value={topic}
            onChange={(event) => setTopic(event.currentTarget.value)}
            classNames={classNames}
          />
          <TextInput
            label="As this person sees it, empty for anybody"
            value={person}
            onChange={(event) => setPerson(event.currentTarget.value)}
            classNames={classNames}
          />
          <Button
            busy={preview.isPending}
            barred={
              topic && body.topics.length && body.field
                ? undefined
                : "Enter a topic, and the rule's topics and field first"
            }
            onClick={() => show(0)}
          >
            Preview
          </Button>
        </div>
        {preview.error && (
          <div className={styles.problem}>
            <Strip tone="failed">{preview.error.message}</Strip>
          </div>
        )}
        {data && <Effect data={data} person={person} />}
      </Panel>
    </div>
  );
}

function Effect({ data, person }: { data: MaskingPreview; person: string }) {
  const who = person || "Anybody";
  const { example } = data;
  return (
    <div role="status">
      {example && (
        <div className={styles.sides}>
          <div>
            <h3>
              Before <Link to={`/records/${example.dead_letter}`}>record {example.dead_letter}</Link>
            </h3>
            <pre className={styles.record}>{example.before ?? "You may not read it."}</pre>
          </div>
          <div>
            <h3>
              After <span className="t3">{who} will see this</span>
            </h3>
            <pre className={styles.record}>{example.after ?? "Hidden whole."}</pre>
          </div>
        </div>
      )}
      <div className={styles.counts}>
        <p>
          {data.of
            ? `${data.masked} of ${data.of} masked, ${data.without_path} without this path, ${data.hidden_whole} not JSON, hidden whole.`
            : "The topic has no dead letters."}
        </p>
        {data.excepted && <p>{who} has an excepted role, so nothing is masked for them.</p>}
      </div>
    </div>
  );
}
