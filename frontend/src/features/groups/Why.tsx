import type { GroupDetail } from "../../api/types";
import { Facts } from "../../ui/Panel";
import styles from "./Groups.module.css";

export function Why({ group }: { group: GroupDetail }) {
  const { why } = group;
  return (
    <div>
      <h3>Why these are one group</h3>
      <Facts
        rows={[
          ["Exception", <span key="e" className="mono">{why.exception_class ?? "none"}</span>],
          ["Stage", <span key="s" className="mono">{why.stage ?? "none"}</span>],
          ["Message", <span key="m" className="mono">{marked(why.message)}</span>],
          ["Holes", <Holes key="h" holes={why.holes} />],
          ["First frame", <span key="f" className="mono">{why.frame ?? "none"}</span>],
          ["Fingerprint", <span key="p" className="mono">{why.fingerprint.length > 26 ? `${why.fingerprint.slice(0, 18)}…` : why.fingerprint}</span>],
        ]}
      />
    </div>
  );
}

function Holes({ holes }: { holes: { name: string; example: string }[] }) {
  if (holes.length === 0) return <span className="t2">none: the message is the same in every record</span>;
  return (
    <>
      {holes.map((hole, index) => (
        <span key={index} className="t2" style={{ display: "block" }}>
          <span className={styles.hole}>{named(hole.name)}</span> for example <span className="mono">{hole.example}</span>
        </span>
      ))}
    </>
  );
}

function marked(message: string) {
  return message.split(/(<[a-z_]+>)/).map((part, index) => (/^<[a-z_]+>$/.test(part) ? <span key={index} className={styles.hole}>{part}</span> : part));
}

function named(name: string): string {
  return name.startsWith("<") ? name : `<${name}>`;
}
