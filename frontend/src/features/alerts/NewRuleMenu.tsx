import { useNavigate } from "react-router";
import type { AlertTemplate } from "../../api/alerts";
import { Button } from "../../ui/controls";
import { MenuButton } from "../../ui/MenuButton";

/** The button of a new rule, with the templates to begin with. */
export function NewRuleMenu({
  templates,
  barred,
}: {
  templates: readonly AlertTemplate[];
  barred: string | undefined;
}) {
  const navigate = useNavigate();
  if (barred) return <Button barred={barred}>New rule</Button>;
  const go = (query: string) => void navigate(`/alerts/rules/new${query}`);
  return (
    <MenuButton
      label="New rule"
      items={[
        { label: "Empty rule", onClick: () => go("") },
        ...templates.map(({ name }, index) => ({ label: name, onClick: () => go(`?template=${index}`) })),
      ]}
    />
  );
}
