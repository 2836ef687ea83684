import { expect, it } from "vitest";
import { completeMention, noteParts, startedMention, suggestedPeople } from "./mentions";

const mentionsOf = (text: string) => noteParts(text).flatMap((part) => (part.isMention ? [part.text] : []));

it("mentions are found as the server finds them", () => {
  expect(mentionsOf("@ada, (@bob) and @eve.")).toEqual(["@ada", "@bob", "@eve"]);
  expect(mentionsOf("mail ada@example.org")).toEqual([]);
  expect(mentionsOf("@@ada")).toEqual([]);
});

it("the parts of a note are its whole text", () => {
  const note = "@ada: <b>look</b> at @bob.";
  expect(
    noteParts(note)
      .map(({ text }) => text)
      .join(""),
  ).toBe(note);
});

it("a mention starts at an @ that follows no letter", () => {
  expect(startedMention("hello @a", 8)).toBe("a");
  expect(startedMention("hello @", 7)).toBe("");
  expect(startedMention("ada@ex", 6)).toBeUndefined();
  expect(startedMention("@ada look", 9)).toBeUndefined();
});

it("names that begin with what is typed come first", () => {
  expect(suggestedPeople(["bada", "ada", "eve"], "AD")).toEqual(["ada", "bada"]);
});

it("a chosen name replaces what is typed", () => {
  expect(completeMention("hi @a there", 5, "ada")).toEqual({ text: "hi @ada there", caret: 8 });
});
