import { describe, expect, it } from "vitest";
import { difference } from "./difference";
import { readingLines } from "./reading";

const SOURCE = '{"a":12345678901234567890.50,"b":[1,  2],"c":"x,{\\"y","d":{},"e":[]}';
const lines = (text: string) => readingLines(text).map((line) => text.slice(line.from, line.to));

describe("lines for reading", () => {
  it("lose, add and respell nothing", () => {
    expect(lines(SOURCE).join("")).toBe(SOURCE);
    expect(lines('{"a":1,\r\n"b":2}\n').join("")).toBe('{"a":1,\r\n"b":2}\n');
  });
  it("break after structure, never inside a string", () => {
    expect(lines(SOURCE)).toEqual(["{", '"a":12345678901234567890.50,', '"b":[', "1,", "  2", "],", '"c":"x,{\\"y",', '"d":{},', '"e":[]', "}"]);
  });
  it("are the text's own where it has some", () => {
    expect(lines('{\n "a":1,\n "b":2\n}')).toEqual(["{\n", ' "a":1,\n', ' "b":2\n', "}"]);
  });
  it("of what is no JSON are its own", () => {
    expect(lines("plain, text")).toEqual(["plain, text"]);
    expect(lines("7b 22\n0a")).toEqual(["7b 22\n", "0a"]);
  });
});

describe("a difference", () => {
  it("names the lines that differ and counts what stays", () => {
    const found = difference('{"a":null,"n":9007199254740993,"b":null}', '{"a":-1,"n":9007199254740993,"b":null}');
    expect(found.places).toBe(1);
    expect(found.kept).toBe(36);
    expect(found.rows.filter((row) => row.kind !== "same").map((row) => [row.kind, row.pieces.filter((piece) => piece.marked).map((piece) => piece.text).join("")])).toEqual([["gone", "null"], ["new", "-1"]]);
  });
  it("puts both sides together again", () => {
    const [before, after] = ['{"a: 10}', '{"a": 10,"b":[1,2]}'];
    const { rows } = difference(before, after);
    const side = (drop: string) => rows.filter((row) => row.kind !== drop).flatMap((row) => row.pieces.map((piece) => piece.text)).join("");
    expect(side("new")).toBe(before);
    expect(side("gone")).toBe(after);
  });
  it("of the same text is none", () => {
    expect(difference(SOURCE, SOURCE)).toMatchObject({ places: 0, kept: SOURCE.length });
  });
});
