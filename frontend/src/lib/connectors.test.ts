import { expect, it } from "vitest";
import { connectorLabel, connectorPage, connectorsAt, pageOfName, reporterName, taskLabel } from "./connectors";

const OURS = { cluster: "engine", name: "orders" };
const THEIRS = { cluster: "legacy", name: "orders" };

it("an address names the cluster and the connector, each as one segment", () => {
  expect(connectorPage({ cluster: "legacy", name: "a/b c" })).toBe("/connectors/legacy/a%2Fb%20c");
  expect(pageOfName("a/b")).toBe("/connectors/a%2Fb");
});

it("a name in a text has its cluster unless that is the engine", () => {
  expect([OURS, THEIRS].map(connectorLabel)).toEqual(["orders", "legacy/orders"]);
});

it("a name alone leads to the connectors of all clusters, and with its cluster to one", () => {
  expect(connectorsAt([OURS, THEIRS], "orders")).toEqual([OURS, THEIRS]);
  expect(connectorsAt([OURS, THEIRS], "orders", "legacy")).toEqual([THEIRS]);
  expect(connectorsAt([OURS, THEIRS], "orders", "nowhere")).toEqual([]);
});

it("a Spark query is its own only task, and its figures have a name of their own", () => {
  const query = { cluster: "spark", name: "orders" };
  expect([OURS, THEIRS, query].map((one) => taskLabel(one, 0))).toEqual([
    "orders-0",
    "legacy/orders-0",
    "spark/orders",
  ]);
  expect([OURS, THEIRS, query].map(reporterName)).toEqual(["orders", "orders", "spark/orders"]);
});
