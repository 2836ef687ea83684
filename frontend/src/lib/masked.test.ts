import { expect, it } from "vitest";
import { maskedNames, maskedText } from "./masked";

const masked = (...masked_members: string[]) => ({ masked: true, masked_members });

it("names the masked members with the effects of their rules", () => {
  const text = JSON.stringify({
    ssn: "***",
    "a/b": [{ phone: "***0142" }],
    mail: "sha256:4be1…07c2",
    note: "call *** now",
  });
  expect(maskedText("value", masked("/ssn", "/a~1b/0/phone", "/mail", "/note"), text)).toBe(
    "Masked for your roles: /ssn (hidden), /a~1b/0/phone (last four characters shown), /mail (shown as a hash), /note (partly hidden)",
  );
});

it.each([
  [masked(), null, "all of the key"],
  [masked(), "call ***", "text within the key"],
  [masked(""), '"***"', "the whole key (hidden)"],
  [masked("/a"), '{"a": "**', "/a"], // cut, so the effect is unknown
  [masked("/1", "/2", "/3", "/4", "/5", "/6", "/7"), "[", "/1, /2, /3, /4, /5 and 2 more"],
])("names what is masked of a key: %j as %j", (bytes, text, named) => {
  expect(maskedText("key", bytes, text)).toBe(`Masked for your roles: ${named}`);
});

it("names the masked parts of a message, and no others", () => {
  const plain = { masked: false, masked_members: [], base64: "" };
  const headers = [
    { name: "h", value: masked() },
    { name: "t", value: plain },
  ];
  expect(
    maskedNames({ key: { ...masked(), base64: null }, value: { ...masked("/ssn"), base64: "" }, headers }),
  ).toEqual(["/ssn of the value", "all of the key", "the header h"]);
  expect(maskedNames({ key: plain, value: plain, headers: [] })).toEqual([]);
});
