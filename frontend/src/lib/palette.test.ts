import { describe, expect, it } from "vitest";
import {
  coordinates,
  keySearch,
  matchingEntries,
  replayNumber,
  paletteNote,
  type PaletteEntry,
  type Source,
} from "./palette";

const place = (section: string, label: string): PaletteEntry => ({ section, label, to: "/" });

describe("coordinates", () => {
  it.each([
    ["orders.dlq/3/918221", { topic: "orders.dlq", partition: 3, offset: 918_221 }],
    [" orders_eu-1.dlq / 0 / 918,221 ", { topic: "orders_eu-1.dlq", partition: 0, offset: 918_221 }],
  ])("reads %s", (text, expected) => expect(coordinates(text)).toEqual(expected));
  it.each(["orders.dlq", "orders.dlq/3", "a b/1/2", "t/-1/2", "t/1/x", "/1/2", "t/1/99999999999999999999"])(
    "does not take %s for coordinates",
    (text) => expect(coordinates(text)).toBeNull(),
  );
});

it.each([
  ["R-12", 12],
  [" r12 ", 12],
  ["R-", null],
  ["r-12 x", null],
])("the number of a replay in %s", (text, expected) => expect(replayNumber(text)).toBe(expected));

it("keys are searched by their beginning, from the second letter on", () => {
  expect(keySearch("a")).toEqual([]);
  expect(keySearch("ak 1").map(({ to }) => to)).toEqual(["/records?q=key%3A%22ak+1%22*&from=now-30d"]);
});

describe("what matches in the palette", () => {
  it("has every word, in any case and order", () => {
    expect(
      matchingEntries([place("Groups", "NOT NULL: gap"), place("Groups", "NOT NULL: nst")], "GAP null").map(
        (one) => one.label,
      ),
    ).toEqual(["NOT NULL: gap"]);
  });
  it("is found by other words too", () => {
    const settings = { ...place("Screens", "Settings"), also: "go to" };
    expect(matchingEntries([settings, place("Screens", "Groups")], "Go to Settings")).toEqual([settings]);
  });
  it("begins with the first word before it only holds it, and stays in its section", () => {
    const places = [place("Topics", "eu.orders"), place("Groups", "orders late"), place("Topics", "orders.dlq")];
    expect(matchingEntries(places, "orders").map((one) => one.label)).toEqual([
      "orders.dlq",
      "eu.orders",
      "orders late",
    ]);
  });
  it("shows some of every section, not all of one", () => {
    const topics = Array.from({ length: 50 }, (_, index) => place("Topics", `t${index}`));
    const found = matchingEntries([...topics, place("Groups", "timeout")], "t");
    expect(found.filter((one) => one.section === "Topics")).toHaveLength(8);
    expect(found.at(-1)?.label).toBe("timeout");
  });
});

describe("what the list alone does not say", () => {
  const source = (name: string, state: Source["state"]): Source => ({ name, state });
  const here = [source("the screens", "success"), source("the groups of 30 d", "success")];
  it("is that names are still to come, before it is that there are none", () => {
    expect(paletteNote([...here, source("the connectors", "pending")], 0)).toBe("Looking…");
  });
  it("names what did not come, even beside what was found", () => {
    expect(paletteNote([...here, source("the topics", "error"), source("the connectors", "error")], 3)).toBe(
      "The names of the topics and the connectors could not be loaded.",
    );
  });
  it("names among what there was nothing", () => {
    expect(paletteNote(here, 0)).toBe(
      "Not among the screens or the groups of 30 d. A record is found by topic/partition/offset.",
    );
    expect(paletteNote(here, 1)).toBe("");
  });
});
