import { describe, expect, it } from "vitest";
import { prettyLines, cells, hexRows, nearStart, wrappedLines, type Line } from "./bytes";

const utf8 = (text: string) => new TextEncoder().encode(text);
const text = (lines: Line[]) => lines.map((line) => line.cells.map((cell) => cell.text).join("")).join("");

describe("the characters of a value", () => {
  it("carry byte offsets, not character offsets", () => {
    expect(cells(utf8("aé€b")).map((cell) => cell.at)).toEqual([0, 1, 3, 6]);
  });
  it("show a byte that is not UTF-8 as itself", () => {
    const found = cells(Uint8Array.of(0x61, 0xff, 0xe9, 0x74));
    expect(found.map((cell) => cell.text)).toEqual(["a", "\\xff", "\\xe9", "t"]);
    expect(found.filter((cell) => cell.invalid)).toHaveLength(2);
  });
  it("show a cut-off sequence at the end as bytes", () => {
    expect(cells(utf8("€").subarray(0, 2)).every((cell) => cell.invalid)).toBe(true);
  });
  it("keep control characters visible", () => {
    expect(
      cells(utf8("a\n\t"))
        .map((cell) => cell.text)
        .join(""),
    ).toBe("a⏎⇥");
  });
});

describe("lines for reading", () => {
  const source = '{"a":12345678901234567890.50,"b":[1,  2],"c":"x,{\\"y"}';
  it("lose, add and respell nothing", () => {
    expect(text(prettyLines(cells(utf8(source)), 100))).toBe(source);
    expect(text(wrappedLines(cells(utf8(source)), 7))).toBe(source);
  });
  it("break after structure, never inside a string", () => {
    const lines = prettyLines(cells(utf8(source)), 100).map((line) => line.cells.map((cell) => cell.text).join(""));
    expect(lines).toEqual(["{", '"a":12345678901234567890.50,', '"b":[', "1,", "  2", "],", '"c":"x,{\\"y"', "}"]);
  });
  it("say at which byte they begin", () => {
    expect(wrappedLines(cells(utf8("€€€€")), 2).map((line) => line.at)).toEqual([0, 6]);
  });
});

describe("around an error", () => {
  it("the suspicious text begins after the last separator", () => {
    const value = utf8('{"mag":1.6,"place:"2km');
    expect(nearStart(value, 19)).toBe(17 - 6);
  });
  it("hex rows begin at a multiple of sixteen", () => {
    expect(hexRows(new Uint8Array(64), 50, 2).map((row) => row.at)).toEqual([48]);
  });
});
