/** Return an export's filter and time range as text: "stage TASK_PUT, not key abc; now-7d to now". */
export function filterSummary(query: string): string {
  const params = new URLSearchParams(query);
  const named = [...params]
    .filter(([name]) => name !== "from" && name !== "to")
    .map(([name, value]) => (name === "q" ? value : `${name.replaceAll("_", " ")} ${value}`));
  return `${named.join(", ") || "all records"}; ${params.get("from") ?? "now-7d"} to ${params.get("to") ?? "now"}`;
}
