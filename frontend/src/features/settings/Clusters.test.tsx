import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Cluster, ClusterList, ConnectionTest } from "../../api/clusters";
import { inApp, settle } from "../../testing";
import { Clusters } from "./Clusters";

const SOON = new Date(Date.now() + 5 * 86_400_000).toISOString();
const FIXED = {
  is_fixed: true,
  is_enabled: true,
  is_indexed: true,
  is_read_only: false,
  environment: "",
  colour: "",
  dead_letter_topics: [],
  ca_file: "",
  certificate_file: "",
  key_file: "",
  secret: "",
  trouble: "",
  by: null,
  at: null,
};
const LIST: ClusterList = {
  secrets: ["eu"],
  colours: ["grey", "red"],
  results: [
    {
      ...FIXED,
      name: "main",
      own: true,
      environment: "PRODUCTION",
      is_read_only: true,
      bootstrap_servers: ["kafka:9093"],
      security_protocol: "SSL",
      sasl: null,
      tls: {
        ca: "/etc/ca.pem",
        checks_host_name: true,
        certificate: { subject: "CN=dash", issuer: "CN=us", expires: SOON },
      },
      principal: "User:CN=dash",
    },
    {
      ...FIXED,
      name: "dr",
      own: false,
      bootstrap_servers: ["dr:9092"],
      security_protocol: "SASL_SSL",
      sasl: { mechanism: "SCRAM-SHA-512", username: "dash" },
      tls: { ca: null, checks_host_name: false, certificate: null },
      principal: "User:dash",
    },
  ],
  index: {
    cluster: "main",
    reachable: true,
    patterns: [".*dlq"],
    rules: [
      { topic: "b.dlq", rule: "added", by: "ann", at: SOON, reason: "INC-3" },
      { topic: "old.dlq", rule: "excluded", by: "bob", at: SOON, reason: "noise" },
    ],
    start: "earliest",
    undecoded: 0,
    undecoded_reason: "",
    topics: [
      {
        topic: "a.dlq",
        pattern: ".*dlq",
        partitions: 2,
        read: 250,
        of: 1000,
        records_behind: 750,
        seconds_behind: 40,
        rate: 50,
        eta_s: 15,
        reading: { dialect: "Spring Kafka", of: 200, unreadable: 3 },
      },
      {
        topic: "b.dlq",
        pattern: null,
        partitions: 1,
        read: 9,
        of: 9,
        records_behind: 0,
        seconds_behind: 0,
        rate: null,
        eta_s: 0,
        reading: null,
      },
      {
        topic: "c.dlq",
        pattern: ".*dlq",
        partitions: 1,
        read: 0,
        of: 0,
        records_behind: 0,
        seconds_behind: 0,
        rate: null,
        eta_s: null,
        reading: null,
      },
    ],
    lookalikes: ["mail-dlt"],
    text: { records_behind: 0, seconds_behind: 0 },
  },
};
const TRIAL: ConnectionTest = {
  reached: true,
  kind: "ok",
  verdict: "1 broker reached over TLS; 2 topics can be seen.",
  detail: "",
  took_ms: 12,
  brokers: [{ id: 1, address: "kafka:9093" }],
  topics: 2,
  dead_letter_topics: ["a.dlq"],
  principal: "User:CN=dash",
  permissions: [
    {
      operations: ["Read", "DescribeConfigs"],
      resource: "topic",
      name: "a.dlq",
      prefixed: false,
      why: "Indexes it",
      verdict: "missing",
      missing: ["Read"],
      note: "",
      command: "kafka-acls.sh --add",
    },
    {
      operations: ["Read"],
      resource: "group",
      name: "dlqadmin-index",
      prefixed: false,
      why: "Keeps",
      verdict: "ok",
      missing: [],
      note: "",
      command: "",
    },
  ],
};

const EU: Cluster = {
  ...FIXED,
  is_fixed: false,
  is_read_only: true,
  name: "eu",
  own: false,
  environment: "PROD",
  colour: "red",
  dead_letter_topics: ["orders.dlq", ".*-dlt"],
  bootstrap_servers: ["eu:9092"],
  security_protocol: "SASL_SSL",
  sasl: { mechanism: "PLAIN", username: "dash" },
  tls: { ca: "/ca.pem", checks_host_name: true, certificate: null },
  ca_file: "/ca.pem",
  secret: "eu",
  principal: "User:dash",
  by: "ann",
  at: "2026-11-27T10:00:00Z",
};
const BODY = {
  bootstrap_servers: "eu:9092",
  security_protocol: "SASL_SSL",
  sasl_mechanism: "PLAIN",
  user: "dash",
  secret: "eu",
  ca_file: "/ca.pem",
  certificate_file: "",
  key_file: "",
  dead_letter_topics: ["orders.dlq", ".*-dlt"],
  is_read_only: true,
  is_enabled: true,
  environment: "PROD",
  colour: "red",
};

let root: Root;
let posted: string[];
let sent: { method: string; url: string; body: unknown }[];

beforeEach(() => {
  posted = [];
  sent = [];
});

afterEach(async () => {
  await act(() => root.unmount());
});

async function show(role = "operator", trial: Response = Response.json(TRIAL), administrator = false): Promise<void> {
  const session = { role, read_only: true, administrator };
  vi.stubGlobal("fetch", (url: string, options: RequestInit) => {
    const { method = "GET", body } = options;
    if (method === "POST") posted.push(url);
    if (method !== "GET") sent.push({ method, url, body: typeof body === "string" ? JSON.parse(body) : undefined });
    if (method === "POST") return Promise.resolve(trial);
    const list = { ...LIST, results: [...LIST.results, EU] };
    return Promise.resolve(Response.json(url.endsWith("/session") ? session : list));
  });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  client.setQueryData(["session"], session);
  root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(() => root.render(inApp(client, <Clusters />)));
  await settle();
}

const text = () => document.body.textContent ?? "";

async function test(cluster: string): Promise<void> {
  const panel = document.querySelector(`section[aria-label=${cluster}]`);
  await act(() =>
    [...(panel?.querySelectorAll("button") ?? [])].find((one) => one.textContent === "Test connection")?.click(),
  );
  await settle();
}

it("each cluster says how clients connect, and what of it deserves a look", async () => {
  await show();
  expect(text()).toContain("SCRAM-SHA-512 as dash");
  expect(text()).toContain("host names are not checked");
  expect(text()).toContain("/etc/ca.pem");
  expect(text()).toContain(", in 5 d");
  expect(text()).toContain("Read-only");
  expect(document.title).toBe("Clusters · dlqadmin");
});

it("the index says how far it is in each topic, and what it does not follow", async () => {
  await show();
  const rows = [...document.querySelectorAll("[data-testid=followed]")].map((row) => row.textContent);
  expect(rows[0]).toContain("250 of 1,000 (25 %)");
  expect(rows[0]).toContain("≈ 15 s");
  expect(rows[0]).toContain("Spring Kafka3 of the newest 200 unreadable");
  expect(rows[1]).toContain("up to date");
  expect(rows[2]).toContain("not read yet");
  expect(text()).toContain("DLQ_TOPICS='.*dlq,mail-dlt'");
});

it("each topic says what names it, and excluded topics say who excluded them and why", async () => {
  await show();
  const rows = [...document.querySelectorAll("[data-testid=followed]")].map((row) => row.textContent);
  expect(rows[0]).toContain("pattern: .*dlq");
  expect(rows[0]).toContain("Exclude…");
  expect(rows[1]).toContain("added by ann");
  expect(rows[1]).toContain("Remove…");
  const rules = [...document.querySelectorAll("[data-testid=rule]")].map((row) => row.textContent);
  expect(rules).toHaveLength(1);
  expect(rules[0]).toContain("old.dlq excluded, by bob");
  expect(rules[0]).toContain(": noise");
  expect(document.querySelector("[aria-description='Needs an administrator']")).not.toBeNull();
});

it("a trial tells what was reached, what is missing, and the command that grants it", async () => {
  await show();
  await test("main");
  expect(posted).toEqual(["/api/v1/clusters/main/test"]);
  expect(text()).toContain("1 broker reached over TLS");
  expect(text()).toContain("1 row with something missing, as User:CN=dash");
  expect(text()).toContain("kafka-acls.sh --add");
});

it("a trial that fails says why in plain words and in the client's own", async () => {
  await show(
    "operator",
    Response.json({
      ...TRIAL,
      reached: false,
      kind: "refused",
      verdict: "No process listens at this address and port.",
      detail: "Connection refused",
      brokers: [],
    }),
  );
  await test("dr");
  expect(text()).toContain("No process listens at this address and port.");
  expect(text()).toContain("could not be checked");
});

it("who may not test sees why", async () => {
  await show("viewer");
  await test("main");
  expect(posted).toEqual([]);
  expect(document.querySelector("[aria-description='Needs the role operator']")).not.toBeNull();
});

const button = (name: string, within: ParentNode = document) =>
  [...within.querySelectorAll<HTMLElement>("button")].find((one) => one.textContent === name)!;

async function press(name: string, within?: ParentNode): Promise<void> {
  await act(() => button(name, within).click());
  await settle();
}

async function fill(label: string, value: string): Promise<void> {
  const name = [...document.querySelectorAll("label")].find((one) => one.textContent === label)!;
  const input = document.getElementById(name.htmlFor) as HTMLInputElement;
  const kind = input.tagName === "SELECT" ? HTMLSelectElement : HTMLInputElement;
  await act(() => {
    Object.getOwnPropertyDescriptor(kind.prototype, "value")!.set!.call(input, value);
    input.dispatchEvent(new Event(input.tagName === "SELECT" ? "change" : "input", { bubbles: true }));
  });
}

const panel = (name: string) => document.querySelector(`section[aria-label=${name}]`)!;
const dialog = () => document.querySelector("[role=dialog]")!;

it("each cluster is marked, and says what sets it", async () => {
  await show();
  expect(panel("eu").textContent).toContain("Cluster euPROD");
  expect(panel("eu").textContent).toContain("password eu of KAFKA_CLUSTER_SECRETS");
  expect(panel("eu").textContent).toContain("orders.dlq, .*-dlt");
  expect(panel("dr").textContent).toContain("Set by OTHER_CLUSTERS");
  expect(button("Edit…", panel("dr"))).toBeUndefined();
  expect(button("Edit…", panel("eu")).getAttribute("aria-description")).toBe("Needs an administrator");
});

it("settings are tested before they are saved, and what the protocol hides is left out", async () => {
  await show("operator", Response.json(TRIAL), true);
  await press("Edit…", panel("eu"));
  await press("Test connection", dialog());
  expect(sent).toEqual([{ method: "POST", url: "/api/v1/clusters/eu/test", body: BODY }]);
  expect(dialog().textContent).toContain("1 broker reached over TLS");
  await fill("Protocol", "PLAINTEXT");
  expect(dialog().textContent).not.toContain("1 broker reached over TLS"); // of other settings
  await press("Save", dialog());
  const plain = { ...BODY, security_protocol: "PLAINTEXT", sasl_mechanism: "", user: "", secret: "", ca_file: "" };
  expect(sent[1]).toEqual({ method: "PUT", url: "/api/v1/clusters/eu", body: plain });
  expect(document.querySelector("[role=dialog]")).toBeNull();
});

it("a cluster is added with a name and servers", async () => {
  await show("operator", Response.json(TRIAL), true);
  await press("Add cluster…");
  expect(button("Add cluster", dialog()).getAttribute("aria-description")).toBe("Enter a name and the servers first");
  await fill("Name", "us");
  await fill("Bootstrap servers, with commas between them", "us:9092");
  await press("Add cluster", dialog());
  expect(sent[0]).toMatchObject({
    method: "PUT",
    url: "/api/v1/clusters/us",
    body: { bootstrap_servers: "us:9092", dead_letter_topics: [], is_enabled: true },
  });
});

it("a cluster is disabled with its settings, and removed with the promise that its dead letters stay", async () => {
  await show("operator", Response.json(TRIAL), true);
  await press("Disable…", panel("eu"));
  await press("Disable", dialog());
  await press("Remove…", panel("eu"));
  expect(dialog().textContent).toContain("Its indexed dead letters stay");
  await press("Remove", dialog());
  expect(sent).toEqual([
    { method: "PUT", url: "/api/v1/clusters/eu", body: { ...BODY, is_enabled: false } },
    { method: "DELETE", url: "/api/v1/clusters/eu", body: undefined },
  ]);
});
