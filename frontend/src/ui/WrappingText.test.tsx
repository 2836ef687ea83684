import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { WrappingText } from "./WrappingText";

it("a line may end behind what separates, and nowhere in a word", () => {
  expect(renderToStaticMarkup(<WrappingText text="[null,false];/a" />)).toBe(
    "[<wbr/>null,<wbr/>false]<wbr/>;<wbr/>/<wbr/>a",
  );
});

it("the text stays what it is", () => {
  const host = document.createElement("div");
  host.innerHTML = renderToStaticMarkup(<WrappingText text={'{"url":"http://a/b?c=1&d","e":[1, 2]}\n'} />);
  expect(host.textContent).toBe('{"url":"http://a/b?c=1&d","e":[1, 2]}\n');
});

it("a long text is one piece: each place to wrap would be an element", () => {
  expect(renderToStaticMarkup(<WrappingText text={"a,".repeat(10_001)} />)).not.toContain("<wbr");
});
