import { act, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, expect, it } from "vitest";
import type { Decoded, DecodedField } from "../../api/decoded";
import { DecodedView, DecoderReports } from "./DecodedView";

const row = (
  name: string,
  start: number | null,
  end: number | null,
  more: Partial<DecodedField> = {},
): DecodedField => ({
  path: name,
  name,
  depth: 0,
  type: "int",
  text: "1",
  start,
  end,
  ...more,
});
const DECODED: Decoded = {
  part: "value",
  size: 9,
  format: "Avro",
  json: "{}",
  fields: [row("id", 5, 7), row("gap", 7, 8, { type: "null or double", text: "null" }), row("at", 8, 8)],
  is_cut: false,
  notes: ["The schema does not know field 7."],
  attempts: [],
  named_schema: "id 42",
  schema: {
    registry: "shop",
    type: "AVRO",
    id: "42",
    type_name: "Order",
    subject: "orders-value",
    version: 1,
    versions: [1],
    compatibility: "",
    text: "{}",
    references: [],
    place: "bytes 1 to 4",
    prefix_bytes: 5,
    takes_versions: true,
  },
  editable: true,
};
const BYTES = btoa("\0\0\0\0*ABC\n");

let root: Root | undefined;
let host: HTMLElement;

afterEach(async () => {
  await act(() => root?.unmount());
});

async function show(shown: ReactNode): Promise<void> {
  host = document.createElement("div");
  root = createRoot(host);
  await act(() => root!.render(shown));
}

const view = (decoded: Partial<Decoded> = {}, named: string[] = []) => (
  <DecodedView
    decoded={{ ...DECODED, ...decoded }}
    base64={BYTES}
    marks={named.map((name) => ({ name, fault: "null", start: null, end: null }))}
  />
);
const rows = () => [...host.querySelectorAll("[aria-label=Fields] > div")].slice(1).map((one) => one.textContent);
const marked = () => [...host.querySelectorAll("[class*=hit]")].map((one) => one.textContent);

it("each field has its type, its value and its bytes, and the magic byte and the id are named", async () => {
  await show(view());
  expect(rows()).toEqual(["idint15–6", "gapnull or doublenull7", "atint1–"]);
  expect(host.textContent).toContain("Decoder: Avro, schema id from bytes 1 to 4");
  expect(host.textContent).toContain("The schema does not know field 7.");
  expect(host.textContent).toContain("00 magic byte2a id 42");
});

it("a chosen field marks its bytes, and a second choice takes the marks away", async () => {
  await show(view());
  expect(marked()).toEqual([]);
  const gap = [...host.querySelectorAll("button")].find((one) => one.textContent === "gap")!;
  await act(() => gap.click());
  expect(marked()).toEqual(["43", "C", "43"]);
  await act(() => gap.click());
  expect(marked()).toEqual([]);
});

it("the field that the error names is marked", async () => {
  await show(view({}, ["gap"]));
  expect(marked()).toEqual(["43", "C", "43"]);
});

it("a long table grows on request and says where it ends", async () => {
  const fields = Array.from({ length: 250 }, (_, at) => row(`f${at}`, null, null));
  await show(view({ fields, is_cut: true }));
  expect(host.textContent).toContain("The table ends after 250 fields.");
  expect(rows().filter((text) => text?.startsWith("f"))).toHaveLength(200);
  await act(() => [...host.querySelectorAll("button")].find((one) => one.textContent === "Next 50 fields")!.click());
  expect(rows().filter((text) => text?.startsWith("f"))).toHaveLength(250);
});

it("bytes that no decoder fits have each decoder's reason", async () => {
  await show(
    <DecoderReports
      namesSchema
      attempts={[
        { decoder: "Schema registry", outcome: "unavailable", reason: "the registry did not answer within 3 s" },
        { decoder: "JSON", outcome: "not_decoded", reason: "not UTF-8" },
      ]}
    />,
  );
  expect(host.querySelector("summary")?.textContent).toBe(
    "Not decoded: the registry did not answer within 3 s. The bytes are shown.",
  );
  expect([...host.querySelectorAll("tr")].map((one) => one.textContent)).toEqual([
    "Schema registrythe registry did not answer within 3 s",
    "JSONnot UTF-8",
  ]);
});

it("bytes that name no schema are not told as a refused schema id", async () => {
  const attempts = [
    { decoder: "Schema registry", outcome: "not_decoded", reason: "byte 0 is 0x7b; a schema id begins with 0x00" },
    { decoder: "JSON", outcome: "not_decoded", reason: "the data ends inside an object" },
  ] as const;
  await show(<DecoderReports attempts={attempts} namesSchema={false} />);
  expect(host.querySelector("summary")?.textContent).toBe(
    "Not decoded: the bytes name no schema, and no other format fits",
  );
  expect(host.querySelectorAll("tr")).toHaveLength(2);
});

it("a marked field whose bytes are not known or not loaded has no byte in the legend", async () => {
  const fields = [row("gap", null, null), row("far", 250_000, 250_004)];
  await show(view({ size: 300_000, fields }, ["gap"]));
  expect(host.textContent).toContain("Raw bytes, the first 9 B of 300.0 kB");
  expect(host.textContent).not.toContain("00 gap");
  await act(() => [...host.querySelectorAll("button")].find((one) => one.textContent === "far")!.click());
  expect(host.textContent).not.toContain("00 far");
});
