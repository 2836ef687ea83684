import { API } from "../../api/client";
import type { Span } from "../../lib/span";
import { MenuButton } from "../../ui/controls";

interface Props {
  /** The path of the report's subject: `groups/5`, `replays/12`. */
  of: `groups/${number}` | `replays/${number}`;
  span?: Span;
}

/** A menu that downloads an incident report as Markdown or JSON. */
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
