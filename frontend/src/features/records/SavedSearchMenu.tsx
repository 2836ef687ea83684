import { Button as MantineButton, Checkbox, Menu, TextInput } from "@mantine/core";
import { useState } from "react";
import { useDeleteSearch, useSaveSearch, useSavedSearches, type SavedSearch } from "../../api/searches";
import { useMayWrite } from "../../api/session";
import { savedQuery, filterOfSaved, type Filter } from "../../lib/filter";
import { ConfirmDialog } from "../../ui/controls";
import controls from "../../ui/controls.module.css";
import { join } from "../../ui/Panel";
import { recentSearches } from "./recentSearches";
import styles from "./QueryBar.module.css";

/** A menu of saved searches and this browser's latest ones. */
export function SavedSearchMenu({ filter, onChange }: { filter: Filter; onChange: (filter: Filter) => void }) {
  const [saving, setSaving] = useState(false);
  const [opened, setOpened] = useState(false);
  const [deleting, setDeleting] = useState<SavedSearch>();
  const { data: saved = [], error } = useSavedSearches();
  const may = useMayWrite();
  const recent = opened ? recentSearches() : [];
  const open = (query: string) => onChange(filterOfSaved(query));
  return (
    <>
      <Menu
        opened={opened}
        onChange={setOpened}
        position="bottom-end"
        offset={4}
        transitionProps={{ duration: 0 }}
        classNames={{ dropdown: controls.dropdown!, item: controls.item! }}
      >
        <Menu.Target>
          <MantineButton className={join(controls.button, controls.quiet)}>Saved searches ▾</MantineButton>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => setSaving(true)} disabled={!may.allowed}>
            Save this search…
            {!may.allowed && (
              <span className="s t3" style={{ display: "block" }}>
                {may.reason}
              </span>
            )}
          </Menu.Item>
          {error && (
            <p className={join("s failed", styles.loadError)} role="alert">
              Saved searches could not be loaded: {error.message}
            </p>
          )}
          {saved.length > 0 && <Menu.Label>Saved</Menu.Label>}
          {saved.map((one) => (
            <SavedSearchItem
              key={one.id}
              one={one}
              barred={may.allowed ? undefined : may.reason}
              onOpen={() => open(one.query)}
              onForget={() => setDeleting(one)}
            />
          ))}
          {recent.length > 0 && <Menu.Label>Recent, in this browser</Menu.Label>}
          {recent.map((query) => (
            <Menu.Item key={query} onClick={() => open(query)}>
              <span className={styles.saved}>
                <code className="cut">{query}</code>
              </span>
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {saving && <SaveSearchDialog query={savedQuery(filter)} onClose={() => setSaving(false)} />}
      {deleting && <DeleteSearchDialog one={deleting} onClose={() => setDeleting(undefined)} />}
    </>
  );
}

function SavedSearchItem({
  one,
  barred,
  onOpen,
  onForget,
}: {
  one: SavedSearch;
  barred: string | undefined;
  onOpen: () => void;
  onForget: () => void;
}) {
  return (
    <div className={styles.savedRow}>
      <Menu.Item onClick={onOpen}>
        <span className={styles.saved}>
          <span className="cut">{one.name}</span>
          <span className="t3">{one.mine ? (one.shared ? "shared" : "") : one.owner}</span>
          <code className="cut">{one.query}</code>
        </span>
      </Menu.Item>
      {one.mine && (
        <Menu.Item
          className={styles.deleteItem}
          aria-label={`Delete ${one.name}`}
          title={barred ?? "Delete"}
          disabled={barred !== undefined}
          onClick={onForget}
        >
          ×
        </Menu.Item>
      )}
    </div>
  );
}

function DeleteSearchDialog({ one, onClose }: { one: SavedSearch; onClose: () => void }) {
  const forget = useDeleteSearch();
  return (
    <ConfirmDialog
      open
      danger
      title={`Delete the saved search ${one.name}?`}
      confirmLabel="Delete"
      busy={forget.isPending}
      error={forget.error?.message ?? null}
      onClose={onClose}
      onConfirm={() => forget.mutate(one.id, { onSuccess: onClose })}
    >
      {one.shared && "This search is shared. Other people will no longer see it."}
    </ConfirmDialog>
  );
}

function SaveSearchDialog({ query, onClose }: { query: string; onClose: () => void }) {
  const [name, setName] = useState("");
  const [shared, setShared] = useState(false);
  const save = useSaveSearch();
  const barred = name.trim() === "" ? "Give it a name first" : undefined;
  return (
    <ConfirmDialog
      open
      title="Save this search"
      confirmLabel="Save"
      barred={barred}
      busy={save.isPending}
      error={save.error?.message ?? null}
      onClose={onClose}
      onConfirm={() => !barred && save.mutate({ name: name.trim(), query, shared }, { onSuccess: onClose })}
    >
      <p className="mono xs" style={{ margin: "0 0 12px", overflowWrap: "anywhere" }}>
        {query}
      </p>
      <TextInput
        label="Name"
        value={name}
        maxLength={100}
        data-autofocus
        onChange={(event) => setName(event.currentTarget.value)}
        classNames={{ label: controls.label!, input: controls.input! }}
      />
      <Checkbox
        mt={12}
        size="xs"
        label="Share with everyone"
        checked={shared}
        onChange={(event) => setShared(event.currentTarget.checked)}
      />
    </ConfirmDialog>
  );
}
