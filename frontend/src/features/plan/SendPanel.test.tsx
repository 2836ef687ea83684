import { QueryClient } from "@tanstack/react-query";
import { act, type ComponentProps } from "react";
import { createRoot } from "react-dom/client";
import { expect, it, vi } from "vitest";
import type { Approval, Plan, ReplayOptions } from "../../api/replayTypes";
import { SendPanel } from "./SendPanel";
import { inApp } from "../../testing";

const PLAN = {
  to_send: 3,
  edited: 0,
  headers: { added: [], stripped: [] },
  confirm: null,
  runnable: true,
  targets: [],
} as unknown as Plan;
const OPTIONS: ReplayOptions = { target_topic: "", use_fixes: true, resend: false, rate: 100 };
const NOBODY: Approval = {
  needed: true,
  reasons: ["it sends 3 records, more than 2"],
  barred: [],
  above: 2,
  asked_by: null,
  asked_at: null,
  approved_by: null,
  approved_at: null,
  void: false,
  approved: false,
  rate: null,
};
const ASKED = { ...NOBODY, asked_by: "ada", asked_at: "2026-11-21T00:00:00Z" };

type Props = Partial<ComponentProps<typeof SendPanel>>;
const none = () => undefined;

/** Return the result of `look` on the panel with these properties, after a reason is entered. */
async function shown<T>(
  props: Props,
  look: (host: HTMLElement) => T | Promise<T>,
  { reason, me, approver }: { reason?: string; me?: string; approver?: boolean } = {},
): Promise<T> {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(["session"], {
    username: me ?? "eve",
    role: "operator",
    approver: approver ?? false,
    read_only: false,
  });
  client.setQueryData(["health"], { broker: { reachable: true } });
  const host = document.body.appendChild(document.createElement("div"));
  const root = createRoot(host);
  await act(() =>
    root.render(
      inApp(
        client,
        <SendPanel
          plan={PLAN}
          count={3}
          options={OPTIONS}
          onOptions={none}
          busy={false}
          error={null}
          barred={undefined}
          onCheck={none}
          onRun={none}
          {...props}
        />,
      ),
    ),
  );
  const field = host.querySelector<HTMLInputElement>("input[aria-label=Reason]");
  if (field && reason) {
    await act(() => {
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set?.call(field, reason);
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
  }
  const found = await look(host);
  await act(() => root.unmount());
  host.remove();
  return found;
}

/** The buttons that are shown with these, each with why it waits. */
function buttons({
  plan,
  approval,
  ...who
}: {
  plan?: Partial<Plan>;
  approval?: Approval;
  me?: string;
  approver?: boolean;
  reason?: string;
}): Promise<Record<string, string>> {
  return shown(
    { plan: { ...PLAN, ...plan }, approval },
    (host) => {
      const found = [...host.querySelectorAll("form button")].filter((one) => one.textContent !== "More options");
      return Object.fromEntries(found.map((one) => [one.textContent, one.getAttribute("aria-description") ?? ""]));
    },
    who,
  );
}

it("a reason is all that a small plan needs", async () => {
  expect(await buttons({})).toEqual({ "Replay 3 records": "Enter a reason first" });
  expect(await buttons({ reason: "INC-7" })).toEqual({ "Replay 3 records": "" });
});

it("what the plan wants typed is typed before it is run", async () => {
  expect(await buttons({ plan: { confirm: { word: "orders" } }, reason: "INC-7" })).toEqual({
    "Replay 3 records": "Type orders first",
  });
});

it("a large plan is asked for before it is run", async () => {
  expect(await buttons({ approval: NOBODY, reason: "INC-7" })).toEqual({
    "Ask for approval of 3 records": "",
    "Replay 3 records": "Needs approval: it sends 3 records, more than 2",
  });
});

it("an approver agrees to what somebody else asked for, and to nothing of their own", async () => {
  const waits = { "Replay 3 records": "Waiting for an approver" };
  expect(await buttons({ approval: ASKED, approver: true })).toEqual({ Approve: "", "Reject…": "", ...waits });
  expect(await buttons({ approval: ASKED, approver: true, me: "ada" })).toMatchObject({
    Approve: "You requested approval: another person must approve",
  });
  expect(await buttons({ approval: { ...ASKED, barred: ["ada", "eve"] }, approver: true })).toMatchObject({
    Approve: "You planned or edited it: another person must approve",
  });
  expect(await buttons({ approval: ASKED })).toMatchObject({ Approve: "Needs the role approver" });
});

it("another plan than was asked for is asked for anew", async () => {
  expect(await buttons({ approval: { ...ASKED, void: true }, reason: "INC-7" })).toHaveProperty(
    "Ask for approval of 3 records",
    "",
  );
});

it("what was approved is run", async () => {
  const approval = { ...ASKED, approved: true, approved_by: "ruth", approved_at: ASKED.asked_at };
  expect(await buttons({ approval, reason: "INC-7" })).toEqual({ "Replay 3 records": "" });
});

const RESOLVE = "resolve each group whose chosen records all pass";

/** Return the started run after the box about groups is ticked, if it exists. */
async function run(options: Partial<ReplayOptions>, tick = true): Promise<unknown[]> {
  const onRun = vi.fn();
  const send = async (host: HTMLElement) => {
    const box = [...host.querySelectorAll("label")].find((one) => one.textContent === RESOLVE);
    if (box && tick) await act(() => box.click());
    await act(() => host.querySelector("form")?.requestSubmit());
  };
  await shown({ options: { ...OPTIONS, ...options }, offerGroupResolution: true, onRun }, send, { reason: "INC-7" });
  return onRun.mock.calls;
}

it("groups are resolved by what becomes of the records if the person wants it, where outcomes can tell", async () => {
  expect(await run({})).toEqual([["INC-7", "", true]]);
  expect(await run({}, false)).toEqual([["INC-7", "", false]]);
  expect(await run({ shadow: true })).toEqual([["INC-7", "", false]]);
  expect(await run({ target_cluster: "dr" })).toEqual([["INC-7", "", false]]);
});
