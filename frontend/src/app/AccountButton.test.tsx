import { act } from "react";
import { createRoot } from "react-dom/client";
import { expect, it } from "vitest";
import { AccountButton } from "./AccountButton";

it("the account button tells how many mentions are new", async () => {
  const root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(() => root.render(<AccountButton name="eve" unseen={12} className="of-menu" />));
  const button = document.querySelector("button[aria-label^='Signed in as eve']")!;
  expect(button.classList).toHaveLength(2); // its own, and that of the menu
  expect([button.getAttribute("aria-label"), button.textContent]).toEqual(["Signed in as eve, 12 new mentions", "9+"]);
  await act(() => root.unmount());
});
