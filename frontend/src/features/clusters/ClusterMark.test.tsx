import { readFileSync } from "node:fs";
import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, expect, it } from "vitest";
import { inApp } from "../../testing";
import { ClusterBanner, ClusterMark } from "./ClusterMark";

const OWN = { name: "main", environment: "PROD", colour: "", is_read_only: false, is_indexed: true };
const EU = { name: "eu", environment: "TEST", colour: "red", is_read_only: true, is_indexed: true };

let root: Root;

afterEach(async () => {
  await act(() => root.unmount());
});

async function show(clusters: (typeof OWN)[], name: string): Promise<string> {
  const client = new QueryClient();
  client.setQueryData(["session"], { cluster: "main", clusters });
  const place = document.body.appendChild(document.createElement("div"));
  root = createRoot(place);
  await act(() =>
    root.render(
      inApp(
        client,
        <main>
          <ClusterMark name={name} />
          <ClusterBanner name={name} />
        </main>,
      ),
    ),
  );
  return place.querySelector("main")!.textContent;
}

it("a single cluster is not marked", async () => {
  expect(await show([OWN], "main")).toBe("");
});

it("one of several clusters has its name, environment and colour, and says that it is read-only", async () => {
  expect(await show([OWN, EU], "eu")).toBe("Cluster euTESTCluster euTESTRead-only: no replay writes to this cluster.");
  expect(document.querySelector("i")?.style.background).toBe("var(--cluster-red)");
});

it("dead letters of a cluster that was removed keep its name", async () => {
  expect(await show([OWN], "old")).toContain("Cluster old");
});

it("each colour stands out from the surface", () => {
  const tokens = readFileSync("src/ui/tokens.css", "utf8");
  const pair = (name: string) => new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\)`).exec(tokens)!.slice(1);
  const light = (hex: string) => {
    const [red, green, blue] = [1, 3, 5].map((at) => {
      const part = parseInt(hex.slice(at, at + 2), 16) / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    }) as [number, number, number];
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
  };
  const surfaces = pair("surface");
  for (const colour of ["grey", "blue", "green", "amber", "red", "purple"]) {
    pair(`cluster-${colour}`).forEach((hex, scheme) => {
      const [one, other] = [light(hex), light(surfaces[scheme]!)];
      expect(Math.max(one, other) / Math.min(one, other)).toBeGreaterThan(4.5);
    });
  }
});
