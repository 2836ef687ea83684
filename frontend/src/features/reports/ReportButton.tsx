import { API } from "../../api/client";
import type { Span } from "../../lib/span";
import { MenuButton } from "../../ui/controls";

interface Props {
  /** Whose report: `groups/5`, `replays/12`. */
  of: `groups/${number}` | `replays/${number}`;
  span?: Span;
}

/** Downloads an incident report: to read, or for a program. */
export function ReportButton({ of, span }: Props) {
  const href = (format: "md" | "json") =>
    `${API}/${of}/report?${new URLSearchParams({ ...(span ? { from: span.from, to: span.to } : {}), format })}`;
  return (
    <MenuButton
      label="Incident report ▾"
      items={[
        { label: "Markdown, to read", href: href("md") },
        { label: "JSON, for programs", href: href("json") },
      ]}
    />
  );
}
