import { EditorState } from "@codemirror/state";
import { describe, expect, it } from "vitest";
import { asText, byteOffset, fitsOneLine, fromHex, fromText, sameBytes, toBase64, toHex } from "./editing";
import { fromBase64 } from "./bytes";

const utf8 = (text: string) => new TextEncoder().encode(text);
const TRICKY = '\ufeff{"n": 9007199254740993,"n":1 ,\r\n"s":"a\r\u0000\u2028\u0085b", "x":1.50e+02,"é":"😀"}\n';

describe("bytes as text", () => {
  it("give the same bytes back: byte order mark, carriage returns, big numbers, odd spacing", () => {
    expect(fromText(asText(utf8(TRICKY))!)).toEqual(utf8(TRICKY));
  });
  it("are no text unless they are exactly UTF-8", () => {
    expect(asText(Uint8Array.of(0x61, 0xff))).toBeNull();
    expect(asText(Uint8Array.of(0xed, 0xa0, 0x80))).toBeNull();
    expect(asText(Uint8Array.of(0xc0, 0x80))).toBeNull();
  });
  it("have none for half a surrogate pair", () => {
    expect(fromText("a\ud800")).toBeNull();
    expect(fromText("a😀")).toEqual(utf8("a😀"));
  });
  it("stay themselves in the editor", () => {
    const state = EditorState.create({ doc: TRICKY, extensions: [EditorState.lineSeparator.of("\n")] });
    expect(state.sliceDoc()).toBe(TRICKY);
    const at = TRICKY.indexOf("1.50");
    expect(state.update({ changes: { from: at, to: at + 1, insert: "2" } }).state.sliceDoc()).toBe(
      TRICKY.replace("1.50", "2.50"),
    );
  });
  it("with a line end or a control character do not fit a field of one line", () => {
    expect(["a\nb", "a\r", "\u0000", "\u0085"].map(fitsOneLine)).toEqual([false, false, false, false]);
    expect(fitsOneLine("é 😀")).toBe(true);
  });
});

describe("hex", () => {
  it("survives being written and read, whatever the bytes", () => {
    const all = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    expect(fromHex(toHex(all))).toEqual(all);
  });
  it("takes any spacing and case", () => {
    expect(fromHex("7B 22\n\t0a0A")).toEqual(Uint8Array.of(0x7b, 0x22, 10, 10));
    expect(fromHex("")).toEqual(new Uint8Array());
  });
  it("refuses half a byte and anything else", () => {
    expect([fromHex("7"), fromHex("7g"), fromHex("0x12")]).toEqual([null, null, null]);
  });
});

describe("base64", () => {
  it("survives being written and read, whatever the bytes", () => {
    const all = Uint8Array.from({ length: 100_000 }, (_, at) => (at * 7919) % 256);
    expect(Buffer.compare(fromBase64(toBase64(all)), all)).toBe(0); // toEqual takes half a second for these
  });
});

it("null is not empty", () => {
  expect([
    sameBytes(null, new Uint8Array()),
    sameBytes(null, null),
    sameBytes(utf8("a"), utf8("a")),
    sameBytes(utf8("a"), utf8("b")),
  ]).toEqual([false, true, true, false]);
});

it("an offset counts bytes, not characters", () => {
  expect(byteOffset("é€😀x", 4)).toBe(9);
});
