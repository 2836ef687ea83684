import { expect, it } from "vitest";
import type { Message } from "../../api/replayTypes";
import { fixBody, partsOf, sameParts } from "./messageParts";

const HIDDEN = { base64: null, size: 5, masked: true, masked_members: [] };
const SHOWN = { base64: btoa("{}"), size: 2, masked: false, masked_members: [] };
const MESSAGE: Message = { key: HIDDEN, value: SHOWN, headers: [{ name: "h", value: { ...SHOWN, masked: true } }] };

it("a hidden key stays out of the saved draft, so that the other parts can be saved", () => {
  const body = fixBody(partsOf(MESSAGE), null);
  expect(body).not.toHaveProperty("key");
  expect(body.value).toEqual({ base64: btoa("{}") });
});

it("a hidden key equals itself, and a key of null does not", () => {
  const parts = partsOf(MESSAGE);
  expect(sameParts(parts, partsOf(MESSAGE))).toBe(true);
  expect(sameParts(parts, { ...parts, key: null })).toBe(false);
});

it("a masked header is marked, so that it is not edited", () => {
  expect(partsOf(MESSAGE).headers.map(({ masked }) => masked)).toEqual([true]);
});
