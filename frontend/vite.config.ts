import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The web server serves the build at the root of the site; in development the API is proxied to it. The CSS target is where `light-dark()` is native.
export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "dist",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
  },
  server: { proxy: { "/api": process.env.API_URL ?? "http://127.0.0.1:8000" } },
  // Without isolation Mantine, React and the window are set up once per worker: a quarter of the CPU time. Only processes can change TZ, which a test does.
  test: {
    environment: "happy-dom",
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["src/testing.setup.ts"],
    pool: "forks",
    isolate: false,
    maxWorkers: 2,
    testTimeout: 20_000,
  },
});
