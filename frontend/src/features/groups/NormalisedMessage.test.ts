import { describe, expect, it } from "vitest";
import { splitAtHoles } from "./NormalisedMessage";

describe("a message with placeholders", () => {
  it("is split at each placeholder with its own example", () => {
    const holes = [
      { name: "n", example: "3" },
      { name: "n", example: "17" },
      { name: "quoted", example: '"x"' },
    ];
    expect(splitAtHoles("line <n> column <n>: <quoted>", holes)).toEqual([
      { text: "line " },
      { text: "<n>", example: "3" },
      { text: " column " },
      { text: "<n>", example: "17" },
      { text: ": " },
      { text: "<quoted>", example: '"x"' },
    ]);
  });
  it("keeps other text in angle brackets as text", () => {
    expect(splitAtHoles("<b>bold</b>", [])).toEqual([{ text: "<b>bold</b>" }]);
    expect(splitAtHoles("cut off <n", [{ name: "n", example: "1" }])).toEqual([{ text: "cut off <n" }]);
  });
});
