import hooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

const FEATURES = [
  "signin",
  "overview",
  "groups",
  "records",
  "record",
  "fix",
  "bulkfix",
  "replays",
  "connectors",
  "topics",
  "exports",
  "audit",
  "settings",
];
const SHARED = ["plan", "exporting", "disposals", "reports", "retention", "setup", "payload"]; // what several features show stands below them
const SHOWN_BY = { bulkfix: "fix" }; // a bulk fix is many fixes: it shows and rehearses its sample as one is shown
const above = (...patterns) => [
  "error",
  {
    patterns: patterns.map((group) => ({
      group: [group],
      message: "Imports go one way: lib, api, ui, then features, then app.",
    })),
  },
];

export default tseslint.config(
  { ignores: ["dist", "node_modules"] },
  ...tseslint.configs.recommended,
  hooks.configs.flat["recommended-latest"],
  {
    files: ["src/lib/**"],
    rules: { "no-restricted-imports": above("**/api/**", "**/ui/**", "**/features/**", "**/app/**") },
  },
  { files: ["src/api/**"], rules: { "no-restricted-imports": above("**/ui/**", "**/features/**", "**/app/**") } },
  { files: ["src/ui/**"], rules: { "no-restricted-imports": above("**/api/**", "**/features/**", "**/app/**") } },
  {
    files: SHARED.map((feature) => `src/features/${feature}/**`),
    rules: { "no-restricted-imports": above("**/app/**", ...FEATURES.map((feature) => `**/${feature}/*`)) },
  },
  ...FEATURES.map((feature) => ({
    files: [`src/features/${feature}/**`],
    rules: {
      "no-restricted-imports": above(
        "**/app/**",
        ...FEATURES.filter((other) => other !== feature && other !== SHOWN_BY[feature]).map((other) => `**/${other}/*`),
      ),
    },
  })),
);
