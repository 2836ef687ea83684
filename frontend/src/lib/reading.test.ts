import { describe, expect, it } from "vitest";
import { readingLines } from "./reading";

const SOURCE = '{"a":12345678901234567890.50,"b":[1,  2],"c":"x,{\\"y","d":{},"e":[]}';
const lines = (text: string) => readingLines(text).map((line) => text.slice(line.from, line.to));

describe("lines for reading", () => {
  it("lose, add and respell nothing", () => {
    expect(lines(SOURCE).join("")).toBe(SOURCE);
    expect(lines('{"a":1,\r\n"b":2}\n').join("")).toBe('{"a":1,\r\n"b":2}\n');
  });
  it("break after structure, never inside a string", () => {
    expect(lines(SOURCE)).toEqual([
      "{",
      '"a":12345678901234567890.50,',
      '"b":[',
      "1,",
      "  2",
      "],",
      '"c":"x,{\\"y",',
      '"d":{},',
      '"e":[]',
      "}",
    ]);
  });
  it("are the text's own where it has some", () => {
    expect(lines('{\n "a":1,\n "b":2\n}')).toEqual(["{\n", ' "a":1,\n', ' "b":2\n', "}"]);
  });
  it("of what is no JSON are its own", () => {
    expect(lines("plain, text")).toEqual(["plain, text"]);
    expect(lines("7b 22\n0a")).toEqual(["7b 22\n", "0a"]);
  });
});
