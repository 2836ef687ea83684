import { act } from "react";
import { createRoot } from "react-dom/client";
import { MemoryRouter } from "react-router";
import { expect, it } from "vitest";
import type { DeadLetter } from "../../api/types";
import { LetterFacts } from "./LetterFacts";

it("a fact has its label, and leads to the records that share it", async () => {
  const host = document.createElement("div");
  const root = createRoot(host);
  const facts: DeadLetter["facts"] = [{ name: "origin_topic", label: "Origin topic", value: "a & b" }];
  await act(() =>
    root.render(
      <MemoryRouter>
        <LetterFacts facts={facts} />
      </MemoryRouter>,
    ),
  );
  expect(host.textContent).toBe(", origin topic a & b");
  expect(host.querySelector("a")?.getAttribute("href")).toBe("/records?origin_topic=a+%26+b");
  await act(() => root.unmount());
});
