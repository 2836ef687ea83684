import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import type { DeadLetter } from "../../api/types";
import { Pipeline } from "./Pipeline";

const STAGE = { type: "PROCESSOR", config: {}, class: "shop.orders.parse_order" };
const LETTER = {
  has_record: true,
  readable: true,
  source: null,
  origin_topic: "orders",
  origin_partition: 0,
  origin_offset: 7,
  attempt: 0,
  stages: [
    { ...STAGE, index: 0, name: "parse", state: "failed" },
    { ...STAGE, index: 1, name: "", state: "not_reached" },
  ],
} as unknown as DeadLetter;

it("shows the name of a stage with its class as a title, and the class of a stage without a name", () => {
  const host = document.createElement("div");
  host.innerHTML = renderToStaticMarkup(<Pipeline letter={LETTER} />);
  const [named, other] = host.querySelectorAll<HTMLElement>("[data-state]");
  expect(named?.textContent).toBe("0 PROCESSOR✕parsefailed, no retry");
  expect(named?.title).toBe("shop.orders.parse_order");
  expect(other?.textContent).toContain("parse_order");
  expect(other?.hasAttribute("title")).toBe(false);
});
