import type { IndexProgress } from "../../api/clusters";
import { plural } from "../../lib/format";
import { CopyField } from "../../ui/CopyField";
import { topicSetting } from "./topicSetting";
import styles from "./Setup.module.css";

/** Topics whose names look like dead letter topics but which are not indexed, with the setting that adds them. */
export function UnindexedTopics({ index }: { index: IndexProgress }) {
  if (index.lookalikes.length === 0) return null;
  return (
    <div className={styles.unindexed}>
      <div className="s">
        <b>{plural(index.lookalikes.length, "topic")}</b> {index.lookalikes.length === 1 ? "looks" : "look"} like dead
        letters and {index.lookalikes.length === 1 ? "is" : "are"} not indexed:{" "}
        <span className="mono">{index.lookalikes.join(", ")}</span>
      </div>
      <CopyField label="the setting that indexes them too" text={topicSetting(index.patterns, index.lookalikes)} />
    </div>
  );
}
