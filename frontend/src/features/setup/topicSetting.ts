/** The setting that follows these topics, too, as the environment takes it. */
export function topicSetting(patterns: readonly string[], more: readonly string[]): string {
  return `DLQ_TOPICS='${[...patterns, ...more].join(",")}'`;
}
