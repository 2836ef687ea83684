import { describe, expect, it } from "vitest";
import { parts } from "./Message";

describe("a message with holes", () => {
  it("is cut at each hole with its own example", () => {
    const holes = [
      { name: "n", example: "3" },
      { name: "n", example: "17" },
      { name: "quoted", example: '"x"' },
    ];
    expect(parts("line <n> column <n>: <quoted>", holes)).toEqual([
      { text: "line " },
      { text: "<n>", example: "3" },
      { text: " column " },
      { text: "<n>", example: "17" },
      { text: ": " },
      { text: "<quoted>", example: '"x"' },
    ]);
  });
  it("keeps what only looks like a hole as text", () => {
    expect(parts("<b>bold</b>", [])).toEqual([{ text: "<b>bold</b>" }]);
    expect(parts("cut off <n", [{ name: "n", example: "1" }])).toEqual([{ text: "cut off <n" }]);
  });
});
