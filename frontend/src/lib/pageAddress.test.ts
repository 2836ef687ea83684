import { expect, it } from "vitest";
import { fillTemplate, pageAddress } from "./pageAddress";

const VALUES = {
  title: "IntegrityError & more",
  message: 'null in "mag" #1',
  group: "7",
  topic: "a/b.dlq",
  connector: "usgs",
  link: "https://dlq.example.org/groups/7",
};

it("only addresses of pages become links", () => {
  expect(pageAddress(" https://issues.example.org/OPS-31 ")).toBe("https://issues.example.org/OPS-31");
  expect(pageAddress("http://issues.example.org/?a=1")).toBe("http://issues.example.org/?a=1");
  for (const text of ["javascript:alert(1)", "JaVaScript:alert(1)", "data:text/html,x", "//x", "OPS-31", ""])
    expect(pageAddress(text)).toBeUndefined();
});

it("values are encoded into the template", () => {
  const template = "https://issues.example.org/new?title={title}&body={message}%0A{link}&labels={topic},{connector}";
  const filled = new URL(fillTemplate(template, VALUES)!);
  expect(filled.host).toBe("issues.example.org");
  expect(filled.searchParams.get("title")).toBe(VALUES.title);
  expect(filled.searchParams.get("body")).toBe(`${VALUES.message}\n${VALUES.link}`);
  expect(filled.searchParams.get("labels")).toBe("a/b.dlq,usgs");
  expect(filled.hash).toBe("");
});

it("a value that is cut within a character is still encoded", () => {
  const filled = fillTemplate("https://x.example/{message}", { ...VALUES, message: `${"a".repeat(999)}😀` });
  expect(filled).toBe(`https://x.example/${"a".repeat(999)}%EF%BF%BD`);
});

it("a template that is no address of a page gives no link", () => {
  expect(fillTemplate("javascript:{title}", VALUES)).toBeUndefined();
});
