import { Modal } from "@mantine/core";
import { useLocation } from "react-router";
import { shortcutsAt } from "./shortcuts";
import styles from "./Shell.module.css";

/** A dialog with the keyboard shortcuts of the current screen. */
export function KeyboardHelp({ open, onClose }: { open: boolean; onClose: () => void }) {
  const { pathname } = useLocation();
  return (
    <Modal
      opened={open}
      onClose={onClose}
      title="Keys"
      centered
      closeButtonProps={{ "aria-label": "Close" }}
      size={420}
      transitionProps={{ duration: 0 }}
      classNames={{ content: styles.help!, title: styles.helpTitle!, header: styles.helpHead! }}
      styles={{ body: { padding: 0 } }}
    >
      <div className={styles.helpBody} data-testid="keys">
        {shortcutsAt(pathname).map(({ screen, rows }) => (
          <section key={screen}>
            <h2>{screen}</h2>
            <dl>
              {rows.map(({ keys, action }) => (
                <div key={action}>
                  <dt>
                    {keys.map((key, index) => (
                      <kbd key={index}>{key}</kbd>
                    ))}
                  </dt>
                  <dd>{action}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Modal>
  );
}
