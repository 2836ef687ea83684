import { expect, it } from "vitest";
import {
  continueTopicRead,
  readSummary,
  readTopicRead,
  topicReadFault,
  topicReadQuery,
  writeTopicRead,
} from "./topicRead";

const params = (text: string) => new URLSearchParams(text);
const PAGE = { read: 1732, read_bytes: 12_345, took_ms: 31 };

it.each(["partition=1&offset=10", "start=oldest&key=a+b", "at=now-1h", ""])(
  "the address %s is the form's",
  (address) => {
    expect(writeTopicRead(params("range=1h"), readTopicRead(params(address))).toString()).toBe(
      ["range=1h", address].filter(Boolean).join("&"),
    );
  },
);

it("the next page keeps the partition and the key, and drops the start and the chosen record", () => {
  const next = continueTopicRead(params("range=1h&partition=1&offset=5&key=k&record=1/5"), "after", "1:55");
  expect(next.toString()).toBe("range=1h&partition=1&key=k&after=1%3A55");
  expect(topicReadQuery(next)).toBe("partition=1&key=k&after=1%3A55");
});

it("an offset needs a number and a partition", () => {
  const read = { partition: "", start: "offset" as const, offset: "1x", at: "", key: "" };
  expect(topicReadFault(read)).toBe("Type an offset: a whole number");
  expect(topicReadFault({ ...read, offset: "17" })).toBe("Choose the partition of the offset");
  expect(topicReadFault({ ...read, offset: "17", partition: "0" })).toBeUndefined();
});

it.each([
  ["found", false, "because the page is full"],
  ["records", false, "because one request reads at most 1,732 records"],
  ["bytes", false, "because one request reads about 12.3 kB at most"],
  ["time", false, "because the time for one request is over"],
  ["end", false, "at the end of the topic"],
  ["end", true, "where the newer page begins"],
])("a read that stopped with %s says so", (stopped, isBefore, reason) => {
  expect(readSummary({ ...PAGE, stopped }, isBefore)).toBe(`Read 1,732 records, 12.3 kB, in 31 ms. Stopped ${reason}.`);
});
