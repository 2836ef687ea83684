import { describe, expect, it } from "vitest";
import { difference, type Row } from "./difference";

const SOURCE = '{"a":12345678901234567890.50,"b":[1,  2],"c":"x,{\\"y","d":{},"e":[]}';
const EVENT =
  '{"type":"Feature","properties":{"mag":1.6,"place":"2km E of San Marino, CA","time":1517966037750,"tz":-480,"url":"https://earthquake.usgs.gov/earthquakes/eventpage/ci37868135","felt":null,' +
  '"status":"automatic","tsunami":0,"net":"ci","ids":",ci37868135,","nst":5,"dmin":0.2619,"gap":141,"title":"M 1.6 - 2km E of San Marino, CA é😀"},"geometry":{"type":"Point","coordinates":[-118.0873333,34.12,9.72]},"id":"ci37868135"}';
const LOST = EVENT.replace('"place":', '"place:');
const CUT = EVENT.slice(0, 200);

const text = (row: Row) => row.pieces.map((piece) => piece.text).join("");
const marked = (row: Row) =>
  row.pieces
    .filter((piece) => piece.marked)
    .map((piece) => piece.text)
    .join("");
const changes = (rows: readonly Row[]) =>
  rows.filter((row) => row.kind !== "same").map((row) => [row.kind, text(row), marked(row)]);
const side = (rows: readonly Row[], drop: string) =>
  rows
    .filter((row) => row.kind !== drop)
    .map(text)
    .join("");
const size = (value: string) => new TextEncoder().encode(value).length;

describe("a difference", () => {
  it("names the lines that differ and counts what stays", () => {
    const found = difference('{"a":null,"n":9007199254740993,"b":null}', '{"a":-1,"n":9007199254740993,"b":null}');
    expect(found).toMatchObject({ by: "line", places: 1, kept: 36 });
    expect(changes(found.rows)).toEqual([
      ["gone", '"a":null,', "null"],
      ["new", '"a":-1,', "-1"],
    ]);
  });
  it("of the same text is none", () => {
    expect(difference(SOURCE, SOURCE)).toMatchObject({ places: 0, kept: SOURCE.length });
  });
  it("of plain lines is by those lines", () => {
    const found = difference("one\ntwo\nthree", "one\n2\nthree");
    expect(found).toMatchObject({ by: "line", places: 1 });
    expect(changes(found.rows).map(([kind, words]) => [kind, words])).toEqual([
      ["gone", "two\n"],
      ["new", "2\n"],
    ]);
  });
  it.each([
    [LOST, EVENT],
    [EVENT, LOST],
    [CUT, EVENT],
    [EVENT, CUT],
    [LOST, LOST.replace("1.6", "1.7")],
    ['{"a: 10}', '{"a": 10,"b":[1,2]}'],
    ["", EVENT],
    [EVENT, ""],
    [`${EVENT}rest`, EVENT],
    [`x${EVENT}`, EVENT],
    [EVENT, '{"type":"Feature"}'],
    [`{"a":"${"😀".repeat(200)}" "b":"${"😀".repeat(200)}}`, `{"a":"${"😀".repeat(200)}", "b":"${"😀".repeat(200)}}`],
  ])("puts both sides together again (%#)", (before, after) => {
    const { rows, kept } = difference(before, after);
    expect(side(rows, "new")).toBe(before);
    expect(side(rows, "gone")).toBe(after);
    expect(rows.every((row) => row.pieces.every((piece) => !/\p{Cs}/u.test(piece.text)))).toBe(true);
    expect(kept).toBeLessThanOrEqual(size(before));
  });
});

describe("of a value that was no JSON, the difference", () => {
  it("of one quote put back is one line, on the lines of what is JSON now", () => {
    const found = difference(LOST, EVENT);
    expect(found).toMatchObject({ by: "line", places: 1, kept: size(LOST) });
    expect(changes(found.rows)).toEqual([
      ["gone", '"place:"2km E of San Marino, CA",', ""],
      ["new", '"place":"2km E of San Marino, CA",', '"'],
    ]);
  });
  it("of one quote taken away is the same, the other way round", () => {
    const found = difference(EVENT, LOST);
    expect(found).toMatchObject({ by: "line", places: 1, kept: size(LOST) });
    expect(changes(found.rows)).toEqual([
      ["gone", '"place":"2km E of San Marino, CA",', '"'],
      ["new", '"place:"2km E of San Marino, CA",', ""],
    ]);
  });
  it("of an end put back is the line that was cut and the lines that follow", () => {
    const found = difference(CUT, EVENT);
    const rows = changes(found.rows);
    expect(found.kept).toBe(size(CUT));
    expect(rows.filter(([kind]) => kind === "gone")).toHaveLength(1);
    expect(rows.filter(([kind]) => kind === "new").map(([, words]) => words)).toHaveLength(found.places);
    expect(rows.at(-1)).toEqual(["new", "}", "}"]);
  });
  it("while neither side is JSON is the place with what stands around it", () => {
    const found = difference(LOST, LOST.replace("-480", "-420"));
    expect(found).toMatchObject({ by: "place", places: 1 });
    expect(changes(found.rows).map(([kind, words, marks]) => [kind, words!.length < 120, marks])).toEqual([
      ["gone", true, "48"],
      ["new", true, "42"],
    ]);
  });
  it("has one place for each change that stands apart, and one for those beside each other", () => {
    const apart = LOST.replace("1.6", "1.7").replace('ci37868135"}', 'ci1"}');
    expect(difference(LOST, apart)).toMatchObject({ by: "place", places: 2 });
    expect(difference(LOST, LOST.replace("1.6", "1.7").replace("2km", "3km"))).toMatchObject({
      by: "place",
      places: 1,
    });
  });
});

it("a difference inside a very long line is shown as a place", () => {
  const long = JSON.stringify({ data: "0123456789".repeat(1_000), n: 1 });
  const found = difference(long, long.replace("01234567890", "01234x67890"));
  expect(found).toMatchObject({ by: "place", places: 1 });
  expect(changes(found.rows).every(([, words]) => words!.length < 200)).toBe(true);
});
