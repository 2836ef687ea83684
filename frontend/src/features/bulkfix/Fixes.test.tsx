import { QueryClient } from "@tanstack/react-query";
import { act, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { BulkFix, BulkPreview, FixProgram, SelectionField, SelectionFields } from "../../api/bulkFixes";
import type { Selection } from "../../api/replayTypes";
import type { Path } from "../../lib/fieldPaths";
import { percent } from "../../lib/format";
import { inApp, settle } from "../../testing";
import { BulkFix as BulkFixScreen } from "./BulkFix";
import { DiscardDrafts } from "./DiscardDrafts";
import { FieldBrowser } from "./FieldBrowser";
import { Fixes } from "./Fixes";
import { PreviewSummary } from "./PreviewSummary";
import { ProgramHistory } from "./ProgramHistory";
import { ProgramTemplates } from "./ProgramTemplates";

const AT = "2026-11-22T00:00:00Z";
const SELECTION = {
  id: 7,
  count: 303,
  watermark: 9,
  digest: "ab",
  title: "earthquakes.gap",
  filters: { from: AT, to: AT, include: { topic: ["usgs.earthquakes.dlq"] }, exclude: {} },
  created_at: AT,
  created_by: "eve",
} as unknown as Selection;
const GAP: Path = { name: "gap", jq: ".gap", pointer: "/gap" };
const NESTED: Path = { name: "properties.gap", jq: ".properties.gap", pointer: "/properties/gap" };
const BULK = {
  id: 4,
  name: "Fill gap",
  kind: "jq",
  program: ".x = 1",
  status: "done",
  counts: { matched: 303, changed: 300, untouched: 2, invalid: 1, kept: 0 },
  why: [],
  trouble: "",
  drafts: 300,
  replaced: 2,
  selection: SELECTION,
  author: "eve",
  created_at: AT,
  done_at: AT,
} as unknown as BulkFix;
const VERSION = {
  id: 1,
  kind: "jq",
  program: ".gap //= 0",
  name: null,
  shared: false,
  own: true,
  author: "eve",
  created_at: AT,
  counts: { matched: 303, changed: 303, untouched: 0, invalid: 0 },
  counted_all: true,
} as FixProgram;

let host: HTMLElement;
let root: Root;
let sent: { method: string; path: string; body: unknown }[];
let answers: Record<string, unknown>;

beforeEach(() => {
  host = document.body.appendChild(document.createElement("div"));
  root = createRoot(host);
  sent = [];
  answers = {};
  vi.stubGlobal("fetch", (url: string, init?: RequestInit) => {
    const path = url.replace("/api/v1/", "");
    const method = init?.method ?? "GET";
    if (method !== "GET") sent.push({ method, path, body: init?.body ? JSON.parse(init.body as string) : null });
    const answer = answers[`${method} ${path}`];
    const body = Array.isArray(answer) && method === "POST" ? (answer as unknown[]).shift() : answer;
    return body === undefined
      ? new Promise<Response>(() => undefined)
      : Promise.resolve(new Response(JSON.stringify(body), { headers: { "Content-Type": "application/json" } }));
  });
});

afterEach(async () => {
  await act(() => root.unmount());
  host.remove();
});

async function show(screen: ReactNode, address = "/"): Promise<void> {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  client.setQueryData(["session"], { username: "eve", role: "operator", read_only: false, payload_reader: true });
  answers["GET session"] = { username: "eve", role: "operator", read_only: false, payload_reader: true };
  await act(() => root.render(inApp(client, screen, address)));
  await settle();
}

const button = (name: string) => [...document.querySelectorAll("button")].find((one) => one.textContent === name)!;
async function click(name: string): Promise<void> {
  await act(() => button(name).click());
  await settle();
}

async function type(input: HTMLInputElement, text: string): Promise<void> {
  await act(() => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")!.set!.call(input, text);
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

function field(name: string, reason: SelectionField["reason"], more: Partial<SelectionField> = {}): SelectionField {
  const path = { name, jq: `.${name}`, pointer: `/${name.replaceAll(".", "/")}` };
  const rest = { column: null, nulls: 0, missing: 0, present: 303, types: ["number"], minimum: null, maximum: null };
  return { path, reason, ...rest, values: [], distinct: 0, ...more };
}

function fieldsOf(more: Partial<SelectionFields> = {}): SelectionFields {
  return {
    records: 303,
    read: 303,
    unread: 0,
    exact: true,
    cut: false,
    took_ms: 40,
    groups: [3, 5],
    fields: [
      field("properties.gap", "named", { nulls: 303, present: 0, types: ["null"], column: "gap" }),
      field("properties.nst", "constraint", { nulls: 160, missing: 1 }),
      field("properties.mag", "other", {
        minimum: "0.1",
        maximum: "4.8",
        distinct: 40,
        values: [{ text: "0.1", count: 1 }],
      }),
      field("properties.net", "other", {
        values: [
          { text: "ak", count: 297 },
          { text: "us", count: 6 },
        ],
        distinct: 2,
      }),
    ],
    named: [{ name: "gap", fault: "null", table: "earthquakes", type: "", paths: [NESTED] }],
    suggestions: [],
    ...more,
  };
}

async function browse(data: SelectionFields, onInsert?: (path: Path) => void): Promise<void> {
  answers["GET selections/7/fields"] = data;
  const after = [{ column: "gap", path: NESTED, records: 303, null_before: 303, null_after: 0 }];
  await show(<FieldBrowser selection={SELECTION} enabled after={after} onInsert={onInsert} />);
}

it("lists the fields that the error names first, with their nulls before and after", async () => {
  await browse(fieldsOf());
  expect([...host.querySelectorAll("h3")].map((one) => one.textContent)).toEqual([
    "Named by the error 1",
    "NOT NULL in table earthquakes 1",
    "Other fields 2",
  ]);
  expect(host.textContent).toContain("values of all 303 records");
  const rows = [...host.querySelectorAll("[data-testid=field] > button")].map((one) => one.textContent);
  expect(rows).toEqual([
    `properties.gap${percent(1, 1, 0)} → ${percent(0, 1, 0)}null`,
    `properties.nst${percent(161, 303, 0)}null`,
    `properties.mag${percent(0, 1, 0)}0.1 to 4.8`,
    `properties.net${percent(0, 1, 0)}ak (297), us (6)`,
  ]);
  expect(host.textContent).toContain("Null in 303 of 303 records");
  const link = [...host.querySelectorAll("a")].find((one) => one.textContent === "Show the 303 records with null")!;
  const query = new URLSearchParams(link.getAttribute("href")!.split("?")[1]);
  expect([query.get("q"), query.get("from")]).toEqual(["group:3,5 value.properties.gap:null", AT]);
});

it("inserts a path, and finds fields by name and value", async () => {
  const inserted: Path[] = [];
  await browse(fieldsOf(), (path) => inserted.push(path));
  await click("Insert path");
  expect(inserted).toEqual([NESTED]);
  await type(host.querySelector("input")!, "AK");
  expect([...host.querySelectorAll("[data-testid=field]")].map((one) => one.getAttribute("data-path"))).toEqual([
    "properties.net",
  ]);
});

it("says how many records were read, and which named field no record has", async () => {
  const named = [{ name: "dmin", fault: "null" as const, table: "", type: "", paths: [] }];
  await browse(fieldsOf({ read: 100, exact: false, named, unread: 2 }));
  expect(host.textContent).toContain("values of 100 of 303 records, stopped at the limit");
  expect(host.textContent).toContain("The error names dmin, but no record that was read has a field of this name.");
  expect(host.textContent).toContain("2 records are not JSON, or without known bytes.");
  expect(button("Insert path")).toBeUndefined();
});

const PREVIEW: BulkPreview = {
  sample: [],
  counts: { matched: 303, changed: 303, untouched: 0, invalid: 0 },
  counted_all: true,
  bytes_before: 210_175,
  bytes_after: 207_448,
  took_ms: 400,
  nulls: [{ column: "gap", path: NESTED, records: 303, null_before: 303, null_after: 303 }],
  warnings: [
    {
      code: "field_added",
      text: "The program adds the field gap, which no record had, to 303 records.",
      path: GAP,
      use: [NESTED],
    },
  ],
};

it("shows warnings above the counts, and puts the right path into the program", async () => {
  const replaced: [Path, Path][] = [];
  await show(
    <PreviewSummary preview={PREVIEW} many={303} old={false} onReplacePath={(...one) => replaced.push(one)} />,
  );
  const text = host.textContent;
  expect(text.indexOf("Warning: The program adds the field gap")).toBeLessThan(text.indexOf("303matched"));
  expect(text).toContain("303matched303changed0untouched0invalid");
  expect(text).toContain("the counts are exact");
  expect(text).toContain(`null or missing: ${percent(1, 1, 0)} → ${percent(1, 1, 0)}`);
  await click("Use .properties.gap");
  expect(replaced).toEqual([[GAP, NESTED]]);
});

it("says that counts are partial", async () => {
  const partial = { ...PREVIEW, counted_all: false, warnings: [] };
  await show(<PreviewSummary preview={partial} many={9000} old={false} onReplacePath={() => undefined} />);
  expect(host.textContent).toContain("Only the first 303 of 9,000 records are counted");
  expect(host.querySelector("[aria-label=Warnings]")).toBeNull();
});

it("uses a former version again", async () => {
  const used: FixProgram[] = [];
  const now = { ...VERSION, id: 2, program: ".properties.gap //= 0" };
  answers["GET selections/7/programs"] = { results: [now, VERSION] };
  await show(<ProgramHistory selection={7} enabled program={now.program} onUse={(one) => used.push(one)} />);
  expect([...host.querySelectorAll("[data-testid=version] button")]).toHaveLength(1);
  expect(host.textContent).toContain("303 changed, 0 untouched, 0 invalid.");
  await click("Use");
  expect(used).toEqual([VERSION]);
});

it("uses, saves and deletes templates", async () => {
  const used: FixProgram[] = [];
  const own = { ...VERSION, id: 5, name: "Null to 0" };
  const shared = { ...VERSION, id: 6, name: "All 9", own: false, author: "bob", shared: true };
  answers["GET fix-templates"] = { results: [shared, own] };
  answers["POST fix-templates"] = own;
  await show(<ProgramTemplates enabled kind="jq" program=". " onUse={(one) => used.push(one)} />);
  await click("All 9, by bob");
  expect(used).toEqual([shared]);
  expect(host.querySelector("[aria-label='Delete the template All 9']")).toBeNull();
  await act(() => host.querySelector<HTMLElement>("[aria-label='Delete the template Null to 0']")!.click());
  expect(sent).toEqual([{ method: "DELETE", path: "fix-templates/5", body: null }]);
  await click("Save as template…");
  await type(document.querySelector("[role=dialog] input[type=text], [role=dialog] input:not([type])")!, "Gap to 0");
  await click("Save");
  const body = { name: "Gap to 0", kind: "jq", program: ". ", shared: false };
  expect(sent[1]).toEqual({ method: "POST", path: "fix-templates", body });
});

it("lists bulk fixes with undo and discard for their author", async () => {
  answers["GET bulk-fixes"] = { results: [BULK, { ...BULK, id: 3, name: "", author: "bob" }], next: null };
  answers["GET fixes?by_hand=true"] = { results: [], count: 0 };
  answers["POST fixes/discard"] = [
    { discarded: 200, left: 100 },
    { discarded: 100, left: 0 },
  ];
  await show(<Fixes />);
  const [mine, theirs] = [...host.querySelectorAll("[data-testid=bulk-fix]")];
  expect(mine!.textContent).toContain("B-4: Fill gap");
  expect(mine!.textContent).toContain("300, 2, 1");
  expect([...mine!.querySelectorAll("button")].map((one) => one.textContent)).toEqual(["Undo…", "Discard drafts…"]);
  expect(theirs!.querySelectorAll("button")).toHaveLength(0);
  await click("Discard drafts…");
  expect(document.querySelector("[role=dialog]")!.textContent).toContain(
    "The 2 drafts that it replaced are lost, too.",
  );
  await click("Discard 300 drafts");
  expect(sent).toEqual(Array(2).fill({ method: "POST", path: "fixes/discard", body: { bulk_fix: 4 } }));
});

it.each([
  [0, 0],
  [12, 1],
])("offers to discard the %i drafts of a selection", async (many, buttons) => {
  answers["GET fixes?selection=7"] = { results: [], count: many };
  await show(<DiscardDrafts of={{ selection: 7 }} name="S-7" />);
  expect(host.querySelectorAll("button")).toHaveLength(buttons);
});

it("rewrites the path of a program that missed the field, and previews it again", async () => {
  const line = (path: string) => `[{"act":"set","path":"${path}","value":0,"when":"null"}]`;
  answers["GET selections/7"] = SELECTION;
  answers["GET selections/7/fields"] = fieldsOf();
  answers["GET selections/7/programs"] = { results: [] };
  answers["GET fix-templates"] = { results: [{ ...VERSION, name: "Fill", kind: "fields", program: line("gap") }] };
  answers["POST bulk-fixes/preview"] = [PREVIEW, { ...PREVIEW, warnings: [] }];
  await show(<BulkFixScreen />, "/bulk-fixes/new?selection=7");
  await click("Fill");
  await settle(600);
  await click("Use .properties.gap");
  await settle(600);
  expect(sent.map((one) => (one.body as { program: string }).program)).toEqual([line("gap"), line("properties.gap")]);
  expect(host.querySelector("[aria-label=Warnings]")).toBeNull();
  expect(button("Make 303 drafts")).toBeDefined();
});
