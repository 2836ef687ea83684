import { EditorView } from "@codemirror/view";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { Suspense, act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Decoded, Encoded } from "../../api/decoded";
import type { Part } from "../../lib/editing";
import { settle } from "../../testing";
import { SchemaPartPanel } from "./SchemaPartPanel";

const SCHEMA: NonNullable<Decoded["schema"]> = {
  registry: "shop",
  type: "AVRO",
  id: "42",
  type_name: "Order",
  subject: "orders-value",
  version: 1,
  versions: [1, 2],
  compatibility: "BACKWARD",
  text: "{}",
  references: [],
  place: "bytes 1 to 4",
  prefix_bytes: 5,
  takes_versions: true,
};
const ORIGINAL: Decoded = {
  part: "value",
  size: 7,
  format: "Avro",
  json: '{"gap":null}',
  fields: [],
  is_cut: false,
  notes: [],
  attempts: [],
  named_schema: "id 42",
  schema: SCHEMA,
  editable: true,
};
const ENCODED: Encoded = {
  base64: btoa("\0\0\0\0*\x02x"),
  size: 15,
  original_size: 7,
  unchanged: 6,
  identical: false,
  schema_id: "42",
  problems: [],
};

let root: Root;
let asked: unknown[];
let changed: Part[];
let unencoded: boolean;
let answer: () => Response;

beforeEach(() => {
  asked = [];
  changed = [];
  unencoded = false;
  answer = () => Response.json(ENCODED);
});

afterEach(async () => {
  await act(() => root.unmount());
});

async function show(
  original: Partial<Decoded> = {},
  draft: Decoded | null = null,
  part: "key" | "value" = "value",
  locked = false,
): Promise<void> {
  vi.stubGlobal("fetch", (url: string, { body }: RequestInit) => {
    asked.push([url, JSON.parse(String(body))]);
    return Promise.resolve(answer());
  });
  root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(() =>
    root.render(
      <QueryClientProvider client={new QueryClient({ defaultOptions: { mutations: { retry: false } } })}>
        <Suspense>
          <SchemaPartPanel
            id="7"
            part={part}
            original={{ ...ORIGINAL, ...original }}
            draft={draft}
            locked={locked}
            onChange={(bytes) => changed.push(bytes)}
            onUnencoded={(now) => (unencoded = now)}
            onBytes={() => undefined}
          />
        </Suspense>
      </QueryClientProvider>,
    ),
  );
  await act(() => vi.dynamicImportSettled()); // the editor
}

const editor = (label: string) =>
  EditorView.findFromDOM(document.querySelector<HTMLElement>(`.cm-content[aria-label="${label}"]`)!)!;

async function write(text: string, label = "Edited value"): Promise<void> {
  const view = editor(label);
  await act(() => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }));
  await settle(600); // longer than the delay of a request
}

const status = () => document.querySelector("[role=status]")?.textContent;

it("a value that nobody edits is never encoded, so it keeps its bytes", async () => {
  await show();
  await settle(2_000);
  expect(asked).toEqual([]);
  expect(changed).toEqual([]);
});

it("an edit that fits is encoded with the same schema", async () => {
  await show();
  await write('{"gap":120.5}');
  expect(asked).toEqual([["/api/v1/dead-letters/7/fix/encode", { part: "value", json: '{"gap":120.5}' }]]);
  expect(changed.map((bytes) => [...bytes!])).toEqual([[0, 0, 0, 0, 42, 2, 120]]);
  expect(status()).toBe("✓ fits the schema, encoded with id 42: 7 B → 15 B; 6 B unchanged");
});

it("an edit that is undone has the bytes of the original", async () => {
  await show();
  await write('{"gap":120.5}');
  answer = () => Response.json({ ...ENCODED, base64: btoa("\0\0\0\0*\0x"), identical: true });
  await write('{"gap":null}');
  expect([...changed.at(-1)!]).toEqual([0, 0, 0, 0, 42, 0, 120]);
  expect(status()).toBe("identical byte for byte");
});

it("a wrong type is told at its path, and the draft keeps its bytes", async () => {
  await show();
  const problems = [{ path: "gap", message: 'is the text "wide"; the schema wants null or double' }];
  answer = () => Response.json({ ...ENCODED, base64: null, problems });
  await write('{"gap":"wide"}');
  expect(status()).toBe("✕ 1 problem");
  expect([...document.querySelectorAll("[aria-label=Problems] li")].map((one) => one.textContent)).toEqual([
    'gap is the text "wide"; the schema wants null or double',
  ]);
  expect(document.body.textContent).toContain("The draft keeps the last value that fits.");
  expect(changed).toEqual([]);
});

it.each([
  "The registry has no id 42.", // its schema was deleted
  "The registry did not answer within 3 s.",
])("a refusal is told in its sentence: %s", async (detail) => {
  await show();
  answer = () => Response.json({ detail }, { status: 409 });
  await write('{"gap":1}');
  expect(status()).toBe(`✕ ${detail}`);
  expect(document.body.textContent).toContain("The draft keeps the last value that fits.");
  expect(changed).toEqual([]);
});

it("an edit that the draft does not have is reported, and has no verdict of an earlier one", async () => {
  await show();
  await write('{"gap":120.5}');
  expect(status()).toContain("fits the schema");
  expect(unencoded).toBe(false);
  const view = editor("Edited value");
  await act(() => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: "{broken" } }));
  expect(unencoded).toBe(true);
  expect(status()).toBeUndefined();
  expect(document.body.textContent).toContain("Checking…");
  answer = () => Response.json({ ...ENCODED, base64: null, problems: [{ path: "", message: "is not JSON" }] });
  await settle(600);
  expect(unencoded).toBe(true);
  await write('{"gap":120.5}');
  expect(unencoded).toBe(false); // the draft still has it
  await act(() => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: "{" } }));
  await act(() => root.unmount());
  expect(unencoded).toBe(false);
  root = createRoot(document.body);
});

it("a newer version of the subject is chosen, and the unedited value is encoded with it", async () => {
  await show();
  const select = document.querySelector("select")!;
  expect([...select.options].map((one) => one.textContent)).toEqual(["id 42 again, version 1", "version 2"]);
  answer = () => Response.json({ ...ENCODED, schema_id: "57" });
  await act(() => {
    select.value = "2";
    select.dispatchEvent(new Event("change", { bubbles: true }));
  });
  await settle(600);
  expect(asked).toEqual([
    ["/api/v1/dead-letters/7/fix/encode", { part: "value", json: '{"gap":null}', subject: "orders-value", version: 2 }],
  ]);
  expect(status()).toContain("encoded with id 57");
});

it("no version is offered to a message that can't name another schema", async () => {
  await show({ schema: { ...SCHEMA, takes_versions: false } });
  expect(document.querySelector("select")).toBeNull();
});

it("a draft is opened with its own version", async () => {
  await show({}, { ...ORIGINAL, json: '{"gap":3}', schema: { ...SCHEMA, id: "57", version: 2 } });
  expect(editor("Edited value").state.sliceDoc()).toBe('{"gap":3}');
  expect(document.querySelector("select")?.value).toBe("2");
  expect(asked).toEqual([]);
});

it("a key is edited as a value is", async () => {
  await show({ part: "key" }, null, "key");
  expect(document.querySelector("h2")?.textContent).toBe("Key");
  await write('{"gap":1}', "Edited key");
  expect(asked).toEqual([["/api/v1/dead-letters/7/fix/encode", { part: "key", json: '{"gap":1}' }]]);
});

it("a person who may not edit sees the original alone, and the draft if there is one", async () => {
  await show({}, null, "value", true);
  expect(document.querySelectorAll(".cm-content")).toHaveLength(1);
  await act(() => root.unmount());
  document.body.replaceChildren();
  await show({}, { ...ORIGINAL, json: '{"gap":3}' }, "value", true);
  expect(document.body.textContent).toContain("Your edit");
  expect(editor("Edited value").state.readOnly).toBe(true);
});
