import { auditExportUrl } from "../../api/audit";
import { useMayNotExport } from "../../api/exports";
import { Button } from "../../ui/controls";
import { MenuButton } from "../../ui/MenuButton";

/** A button that downloads all entries that match a query string. */
export function AuditExportButton({ query }: { query: string }) {
  const barred = useMayNotExport();
  if (barred) return <Button barred={barred}>Export ▾</Button>;
  return (
    <MenuButton
      label="Export ▾"
      items={[
        { label: "NDJSON, with seals", href: auditExportUrl(query, "ndjson") },
        { label: "CSV, for spreadsheets", href: auditExportUrl(query, "csv") },
      ]}
    />
  );
}
