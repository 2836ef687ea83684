import { NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { useChangeRegistry, type Registry, type RegistryBody } from "../../api/decoded";
import controls from "../../ui/controls.module.css";
import { ConfirmDialog } from "../../ui/Dialog";

/** The registry that a dialog changes or removes; null adds one. */
export interface RegistryQuestion {
  cluster: string;
  registry: Registry | null;
  remove: boolean;
}

const EMPTY: Required<RegistryBody> = {
  name: "",
  url: "",
  ca_file: "",
  auth: "none",
  user: "",
  secret: "",
  token_url: "",
  scope: "",
};
const LABELS: Record<string, string> = {
  none: "No authentication",
  basic: "User and password",
  bearer: "Bearer token",
  oauth: "OAuth, client credentials",
};

/** Asks for the settings of a cluster's registry, or whether to remove it. */
export function RegistryDialog({
  question,
  secrets,
  onClose,
}: {
  question: RegistryQuestion;
  secrets: readonly string[];
  onClose: () => void;
}) {
  const { cluster, registry, remove } = question;
  const change = useChangeRegistry();
  const [body, setBody] = useState<Required<RegistryBody>>(() =>
    registry
      ? (Object.fromEntries(Object.keys(EMPTY).map((key) => [key, registry[key as keyof Registry]])) as typeof EMPTY)
      : EMPTY,
  );
  const field = (name: keyof RegistryBody, label: string, description?: string) => (
    <TextInput
      label={label}
      description={description}
      value={body[name]}
      onChange={(event) => setBody({ ...body, [name]: event.currentTarget.value })}
      mt="sm"
      classNames={{ label: controls.label!, input: `${controls.input} mono` }}
    />
  );
  const hasSecret = body.auth !== "none";
  return (
    <ConfirmDialog
      open
      title={remove ? `Remove the registry of ${cluster}` : `Schema registry of ${cluster}`}
      confirmLabel={remove ? "Remove" : "Save"}
      danger={remove}
      barred={remove || (body.name && body.url) ? undefined : "Enter a name and a URL first"}
      busy={change.isPending}
      error={change.error?.message ?? null}
      onClose={onClose}
      onConfirm={() => change.mutate({ cluster, body: remove ? null : body }, { onSuccess: onClose })}
    >
      {remove ? (
        "Values that name a schema are shown as bytes again. Values that are decoded already stay searchable."
      ) : (
        <>
          {field("name", "Name")}
          {field("url", "URL", "Confluent's API, for example https://registry.example:8081")}
          {field("ca_file", "CA file, if the usual authorities do not know it")}
          <NativeSelect
            label="Authentication"
            value={body.auth}
            data={Object.entries(LABELS).map(([value, label]) => ({ value, label }))}
            onChange={(event) => setBody({ ...body, auth: event.currentTarget.value as typeof body.auth })}
            mt="sm"
            classNames={{ label: controls.label!, input: controls.input! }}
          />
          {(body.auth === "basic" || body.auth === "oauth") &&
            field("user", body.auth === "basic" ? "User" : "Client id")}
          {hasSecret && (
            <NativeSelect
              label="Secret, by its name in SCHEMA_REGISTRY_SECRETS"
              value={body.secret}
              data={["", ...secrets]}
              onChange={(event) => setBody({ ...body, secret: event.currentTarget.value })}
              mt="sm"
              classNames={{ label: controls.label!, input: controls.input! }}
            />
          )}
          {body.auth === "oauth" && field("token_url", "Token endpoint")}
          {body.auth === "oauth" && field("scope", "Scope")}
        </>
      )}
    </ConfirmDialog>
  );
}
