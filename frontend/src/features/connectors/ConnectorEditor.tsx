import { NativeSelect, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useMemo, useState } from "react";
import { useNavigate, useParams } from "react-router";
import { ApiError } from "../../api/client";
import {
  isConfigChanged,
  useConfigValidation,
  useConnectorConfig,
  useConnectorPlugins,
  useWriteConfig,
  type ConnectorConfiguration,
  type ConnectorOption,
} from "../../api/connectorConfigs";
import { useConnectors } from "../../api/connectors";
import { useMayEdit } from "../../api/session";
import { SPARK, connectorLabel, connectorPage } from "../../lib/connectors";
import type { ConnectCluster } from "../../api/types";
import { plural } from "../../lib/format";
import { configChanges, rebased, type Config } from "../../lib/properties";
import { Button, Choice } from "../../ui/controls";
import controls from "../../ui/controls.module.css";
import { ConfirmDialog } from "../../ui/Dialog";
import { LoadError } from "../../ui/LoadError";
import { PageHead, Panel, SkeletonRows, Strip } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import { ConfigDifference } from "./ConfigDifference";
import { ConfigText } from "./ConfigText";
import styles from "./ConnectorEditor.module.css";
import { OptionForm } from "./OptionForm";

const TYPING_MS = 400;
const CLASS = "connector.class";
const NONE: Config = {};

/** The page that creates a connector, or changes the one of the address. */
export function ConnectorEditor() {
  const { cluster, name } = useParams();
  const { data, error, refetch } = useConnectorConfig(name === undefined ? undefined : { cluster, name });
  useTitle(name ? `Edit ${name}` : "New connector");
  if (name === undefined) return <Editor key="new" />;
  if (data) return <Editor key={`${cluster}/${name}`} loaded={data} />;
  return (
    <>
      <PageHead title={`Edit ${name}`} />
      <Panel>
        {error ? (
          <LoadError title="The configuration could not be loaded" error={error} onAgain={() => void refetch()} />
        ) : (
          <SkeletonRows rows={8} />
        )}
      </Panel>
    </>
  );
}

type View = "set" | "all" | "text";

function Editor({ loaded }: { loaded?: ConnectorConfiguration }) {
  const name = loaded?.connector;
  const [chosen, setChosen] = useState<string | undefined>();
  const clusters = (useConnectors().data?.clusters ?? []).filter((one) => one.name !== SPARK);
  // The first default stays: a cluster that is away for a moment must not turn the form to another one.
  const first = loaded ? undefined : clusters.find((one) => one.reachable)?.name;
  if (chosen === undefined && first !== undefined) setChosen(first);
  const cluster = loaded?.cluster ?? chosen;
  const navigate = useNavigate();
  const mayEdit = useMayEdit();
  const [opened, setOpened] = useState<Config | undefined>(loaded?.config);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set(loaded?.hidden));
  const [config, setConfig] = useState<Config>(loaded?.config ?? NONE);
  const [view, setView] = useState<View>("set");
  const [search, setSearch] = useState("");
  const [asking, setAsking] = useState(false);
  const current = useConnectorConfig(name === undefined ? undefined : { cluster, name });
  const write = useWriteConfig();

  const [settled] = useDebouncedValue(config, TYPING_MS);
  const plugin = settled[CLASS] ?? "";
  const validation = useConfigValidation(plugin, settled, cluster, name);
  const isChecking = plugin !== "" && (settled !== config || validation.isFetching);
  const options = useMemo(
    () => withProblems(validation.data?.options ?? [], validation.error ?? write.error, config),
    [validation.data, validation.error, write.error, config],
  );
  const faulty = options.filter((one) => one.errors.length > 0);
  const secret = new Set([...hidden, ...options.filter((one) => one.type === "password").map((one) => one.name)]);
  const invalid = new Set(faulty.map((one) => one.name));
  const changes = useMemo(() => configChanges(opened ?? NONE, config), [opened, config]);
  const unchanged = Object.keys(config).length - changes.filter((one) => one.after !== undefined).length;
  const verb = opened ? `Apply ${plural(changes.length, "change")}` : "Create connector";
  const isConflict = write.error instanceof ApiError && isConfigChanged(write.error.problem);
  const barred = !mayEdit.allowed
    ? mayEdit.reason
    : changes.length === 0
      ? opened
        ? "Nothing is changed"
        : "Set the options first"
      : plugin === ""
        ? "Choose a connector class first"
        : isChecking
          ? "The options are being checked"
          : faulty.length > 0
            ? notValid(faulty.length)
            : validation.isError
              ? "The options could not be checked"
              : isConflict
                ? "Continue from the new configuration first"
                : undefined;

  const set = (option: string, value: string | undefined) => {
    write.reset();
    setConfig((before) => {
      const next: Record<string, string> = { ...before };
      if (value === undefined) delete next[option];
      else next[option] = value;
      return next;
    });
  };
  const open = (option: string) => {
    setView((before) => (before === "text" ? "set" : before));
    setSearch("");
    requestAnimationFrame(() => document.getElementById(`option-${option}`)?.focus());
  };
  const takeOver = async () => {
    const { data } = await current.refetch();
    if (!data) return;
    setConfig(rebased(opened ?? NONE, config, data.config));
    setOpened(data.config);
    setHidden(new Set(data.hidden));
    write.reset();
    setView((before) => (before === "text" ? "set" : before)); // the text is of the former configuration
  };
  const target = name ?? config.name ?? "";
  const page = connectorPage({ cluster: cluster ?? "", name: target });
  const apply = (reason: string) =>
    write.mutate(
      { cluster, name: target, config, opened, reason },
      {
        onSuccess: () => void navigate(page),
        onError: () => setAsking(false),
      },
    );

  return (
    <>
      <PageHead
        title={name ? `Edit ${name}` : "New connector"}
        note={
          name
            ? "The connector restarts with the new options. Its committed offsets stay."
            : "The connector starts as soon as it is created."
        }
      />
      {write.error && <WriteProblem error={write.error} isConflict={isConflict} onTakeOver={() => void takeOver()} />}
      <div className={styles.columns}>
        <Panel
          label="Options"
          title="Options"
          aside={
            <span className={styles.tools}>
              {view !== "text" && (
                <TextInput
                  aria-label="Search options"
                  placeholder="Search options"
                  type="search"
                  value={search}
                  onChange={(event) => setSearch(event.currentTarget.value)}
                  classNames={{ input: controls.input! }}
                />
              )}
              <Choice<View>
                label="Shown options"
                value={view}
                onChange={setView}
                options={[
                  { value: "set", label: `Set ${Object.keys(config).length}` },
                  { value: "all", label: options.length > 0 ? `All ${options.length}` : "All" },
                  { value: "text", label: "Text" },
                ]}
              />
            </span>
          }
        >
          {opened === undefined && view !== "text" && (
            <Beginning
              config={config}
              cluster={cluster}
              clusters={clusters}
              onCluster={(next) => (setChosen(next), set(CLASS, undefined))}
              onSet={set}
            />
          )}
          {view === "text" ? (
            <ConfigText config={config} onChange={(next) => (write.reset(), setConfig(next))} />
          ) : plugin === "" ? null : validation.isPending ? (
            // As tall as the options, so that the changes below stay in place in a narrow window.
            <SkeletonRows rows={Math.max(6, Object.keys(config).length)} height={48} />
          ) : (
            <OptionForm
              options={options.filter((one) => !isElsewhere(one, opened === undefined))}
              config={config}
              opened={opened}
              hidden={hidden}
              all={view === "all"}
              search={search}
              onChange={set}
            />
          )}
        </Panel>
        <Panel
          label="Changes"
          title={opened ? "Changes" : "Configuration"}
          aside={<CheckState plugin={plugin} isChecking={isChecking} faulty={faulty} failed={validation.isError} />}
          className={styles.side}
        >
          {changes.length === 0 ? (
            <div className={styles.none}>{opened ? "Nothing is changed." : "No option is set."}</div>
          ) : (
            <ConfigDifference changes={changes} invalid={invalid} secret={secret} unchanged={unchanged} />
          )}
          {faulty.length > 0 && <Faults faulty={faulty} onOpen={open} />}
          <div className={styles.actions}>
            <Button kind="primary" barred={barred} onClick={() => setAsking(true)}>
              {verb}…
            </Button>
            <Button to={name ? page : "/connectors"}>Discard</Button>
          </div>
        </Panel>
      </div>
      <ConfirmDialog
        open={asking}
        title={`${opened ? "Change" : "Create"} ${connectorLabel({ cluster: cluster ?? "", name: target })}`}
        confirmLabel={verb}
        inputLabel="Reason"
        required
        busy={write.isPending}
        error={null}
        onClose={() => setAsking(false)}
        onConfirm={apply}
      >
        <ConfigDifference changes={changes} invalid={invalid} secret={secret} unchanged={unchanged} />
      </ConfirmDialog>
    </>
  );
}

/** The cluster, name and class of a new connector: the class decides which other options there are. */
function Beginning({
  config,
  cluster,
  clusters,
  onCluster,
  onSet,
}: {
  config: Config;
  cluster: string | undefined;
  clusters: readonly ConnectCluster[];
  onCluster: (cluster: string) => void;
  onSet: (name: string, value: string | undefined) => void;
}) {
  const { data, error } = useConnectorPlugins(cluster);
  const chosen = config[CLASS] ?? "";
  const classes = data?.results ?? [];
  const groups = [...new Set(classes.map((one) => one.type))].map((type) => ({
    group: type,
    items: classes.filter((one) => one.type === type).map((one) => ({ value: one.class, label: one.class })),
  }));
  const isListed = chosen === "" || classes.some((one) => one.class === chosen);
  return (
    <div className={styles.beginning}>
      {clusters.length > 1 && (
        <NativeSelect
          label="Connect cluster"
          value={cluster ?? ""}
          data={clusters.map((one) => ({ value: one.name, label: one.name, disabled: !one.reachable }))}
          onChange={(event) => onCluster(event.currentTarget.value)}
          classNames={{ label: controls.label!, input: controls.input! }}
        />
      )}
      <TextInput
        label="Name"
        value={config.name ?? ""}
        onChange={(event) => onSet("name", event.currentTarget.value || undefined)}
        autoComplete="off"
        classNames={{ label: controls.label!, input: controls.input! }}
      />
      <NativeSelect
        label="Connector class"
        value={chosen}
        error={error ? error.message : undefined}
        data={[{ value: "", label: "Choose…" }, ...(isListed ? [] : [{ value: chosen, label: chosen }]), ...groups]}
        onChange={(event) => onSet(CLASS, event.currentTarget.value || undefined)}
        classNames={{ label: controls.label!, input: controls.input! }}
      />
    </div>
  );
}

/** Return whether the option needs no row: the name can't be changed, and a new connector has fields for both. */
function isElsewhere({ name, errors }: ConnectorOption, isNew: boolean): boolean {
  return errors.length === 0 && (name === "name" || (isNew && name === CLASS));
}

function CheckState({
  plugin,
  isChecking,
  faulty,
  failed,
}: {
  plugin: string;
  isChecking: boolean;
  faulty: readonly ConnectorOption[];
  failed: boolean;
}) {
  const [tone, words] =
    plugin === ""
      ? ["t3", ""]
      : isChecking
        ? ["t3", "checking…"]
        : faulty.length > 0
          ? ["failed b", notValid(faulty.length)]
          : failed
            ? ["failed", "could not be checked"]
            : ["passed", "✓ all options are valid"];
  return (
    <span className={`s ${tone}`} role="status" data-testid="check-state">
      {words}
    </span>
  );
}

/** The faulty options, each a link to its row. */
function Faults({ faulty, onOpen }: { faulty: readonly ConnectorOption[]; onOpen: (name: string) => void }) {
  return (
    <ul className={styles.faults} aria-label="Options that are not valid">
      {faulty.map(({ name, errors }) => (
        <li key={name}>
          <a
            href={`#option-${name}`}
            className="mono"
            onClick={(event) => {
              event.preventDefault();
              onOpen(name);
            }}
          >
            {name}
          </a>{" "}
          {errors.join("; ")}
        </li>
      ))}
    </ul>
  );
}

function WriteProblem({
  error,
  isConflict,
  onTakeOver,
}: {
  error: Error;
  isConflict: boolean;
  onTakeOver: () => void;
}) {
  const findings = error instanceof ApiError ? (error.problem.errors ?? []) : [];
  return (
    <div className={styles.problem} role="alert">
      <Strip tone="failed">
        {isConflict ? "Somebody changed this connector since you opened it. Nothing was written." : error.message}
      </Strip>
      {isConflict && (
        <>
          <ul className={styles.faults}>
            {findings.map(({ parameter, message }) => (
              <li key={parameter}>
                <span className="mono b">{parameter}</span> {message}
              </li>
            ))}
          </ul>
          <Button onClick={onTakeOver}>Continue from the new configuration with my changes</Button>
        </>
      )}
    </div>
  );
}

function notValid(count: number): string {
  return `${plural(count, "option")} ${count === 1 ? "is" : "are"} not valid`;
}

/** Return the options with the findings of a refused request, and a row for each option that is only in the findings. */
function withProblems(options: readonly ConnectorOption[], error: Error | null, config: Config): ConnectorOption[] {
  const findings =
    error instanceof ApiError && error.status === 400
      ? (error.problem.errors ?? []).map((one) => ({ ...one, parameter: one.parameter.replace(/^config\./, "") }))
      : [];
  const of = (name: string) => findings.filter((one) => one.parameter === name).map((one) => one.message);
  const known = new Set(options.map((one) => one.name));
  const missing = [...new Set([...Object.keys(config), ...findings.map((one) => one.parameter)])].filter(
    (name) => !known.has(name) && name !== "config" && name !== "reason",
  );
  return [
    ...options.map((one) => ({ ...one, errors: [...new Set([...one.errors, ...of(one.name)])] })),
    ...missing.map((name) => ({
      name,
      type: "string",
      required: false,
      default: null,
      doc: "",
      group: "Other",
      importance: "",
      recommended: [],
      visible: true,
      errors: of(name),
    })),
  ];
}
