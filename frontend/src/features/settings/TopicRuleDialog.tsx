import { TextInput } from "@mantine/core";
import { useState } from "react";
import { useTopicRule, type TopicDecision } from "../../api/clusters";
import controls from "../../ui/controls.module.css";
import { ConfirmDialog } from "../../ui/Dialog";

/** The decision about a topic that a dialog asks for. An empty topic is entered in the dialog. */
export interface TopicQuestion {
  topic: string;
  rule: TopicDecision;
}

const WORDS: Record<TopicDecision, { title: string; verb: string; says: string }> = {
  added: {
    title: "Add a dead letter topic",
    verb: "Add topic",
    says: "The indexer reads the topic from its earliest record within seconds. People with the right payload reader see the content of its records.",
  },
  excluded: {
    title: "Exclude",
    verb: "Exclude topic",
    says: "The indexer stops reading the topic within seconds. Its records that are indexed already stay. Replays into the topic stay forbidden.",
  },
  default: {
    title: "Leave to the settings",
    verb: "Remove rule",
    says: "The settings of the cluster, such as DLQ_TOPICS, decide about the topic again. If it is indexed again, the indexer continues where it stopped.",
  },
};

/** Asks for the reason of a decision about a topic, and makes it. */
export function TopicRuleDialog({
  cluster,
  question,
  suggestions,
  onClose,
}: {
  cluster: string;
  question: TopicQuestion | null;
  suggestions: readonly string[];
  onClose: () => void;
}) {
  const change = useTopicRule(cluster);
  const [name, setName] = useState("");
  const words = question && WORDS[question.rule];
  const topic = question?.topic || name.trim();
  const close = () => {
    onClose();
    setName("");
    change.reset();
  };
  return (
    <ConfirmDialog
      open={question !== null}
      title={words ? [words.title, question.topic].filter(Boolean).join(" ") : ""}
      confirmLabel={words?.verb ?? ""}
      inputLabel="Reason"
      required
      barred={topic ? undefined : "Enter a topic first"}
      busy={change.isPending}
      error={change.error?.message ?? null}
      onClose={close}
      onConfirm={(reason) => question && change.mutate({ topic, rule: question.rule, reason }, { onSuccess: close })}
    >
      {words?.says}
      {question?.topic === "" && (
        <>
          <TextInput
            label="Topic"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            list="topic-suggestions"
            data-autofocus
            mt="sm"
            classNames={{ label: controls.label!, input: `${controls.input} mono` }}
          />
          <datalist id="topic-suggestions">
            {suggestions.map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
        </>
      )}
    </ConfirmDialog>
  );
}
