/** Return the DLQ_TOPICS setting that also includes these topics, as a shell assignment. */
export function topicSetting(patterns: readonly string[], more: readonly string[]): string {
  return `DLQ_TOPICS='${[...patterns, ...more].join(",")}'`;
}
