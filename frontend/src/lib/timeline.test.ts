import { expect, it } from "vitest";
import { mergedByTime } from "./timeline";

const at = (time: string, text: string) => ({ at: `2026-11-22T${time}Z`, text });
const words = (events: { text: string }[]) => events.map(({ text }) => text).join(" ");

it("puts two histories together by time", () => {
  expect(
    words(
      mergedByTime(
        [at("10:00:00", "failed"), at("10:00:09", "indexed")],
        [at("10:00:20", "sent"), at("10:00:05", "other")],
      ),
    ),
  ).toBe("failed other indexed sent");
  expect(mergedByTime([], [at("10:00:00", "sent")])).toEqual([at("10:00:00", "sent")]);
});

it("keeps what led to what in its order though clocks differ, and shows the times that they told", () => {
  const own = [
    at("12:00:00", "produced"),
    at("10:00:00", "failed"),
    at("09:00:00", "dead-lettered"),
    at("10:00:09", "indexed"),
  ];
  const all = mergedByTime(own, [at("10:00:20", "sent"), at("09:59:00", "before")]);
  expect(words(all)).toBe("before produced failed dead-lettered indexed sent");
  expect(all[1]).toBe(own[0]);
});
