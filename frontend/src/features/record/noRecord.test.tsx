import { MantineProvider } from "@mantine/core";
import { act, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { expect, it } from "vitest";
import type { DeadLetter } from "../../api/types";
import { MissingBytes } from "./MissingBytes";
import { Pipeline } from "./Pipeline";

const MISSING = { size: null, is_null: false, base64: null };
const LETTER = {
  has_record: false,
  readable: true,
  original: "unknown",
  source: null,
  origin_topic: null,
  origin_partition: null,
  origin_offset: null,
  attempt: null,
  stages: [{ index: 0, type: "TASK_POLL", name: "", class: "SqlSource", state: "failed", config: {} }],
  value: MISSING,
  key: MISSING,
} as unknown as DeadLetter;

/** Return the text of a rendered component. */
async function textOf(shown: ReactNode): Promise<string | null> {
  const host = document.createElement("div");
  const root = createRoot(host);
  await act(() => root.render(<MantineProvider env="test">{shown}</MantineProvider>));
  const text = host.textContent;
  await act(() => root.unmount());
  return text;
}

it("shows that an error without a record has no origin and no value", async () => {
  expect(await textOf(<Pipeline letter={LETTER} />)).toMatch(/ORIGINno recordno position/);
  expect(await textOf(<MissingBytes letter={LETTER} part="value" />)).toContain("The error concerns no record.");
});

it("shows that the origin and the value of a record are not known", async () => {
  const letter = { ...LETTER, has_record: true };
  expect(await textOf(<Pipeline letter={letter} />)).toMatch(/ORIGINunknownposition unknown/);
  expect(await textOf(<MissingBytes letter={letter} part="value" />)).toContain("The dead letter does not carry it.");
});
