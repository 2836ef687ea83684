import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const TEXT = /\.(js|css|svg)$/;

/** Writes a .br and a .gz file beside each asset. The web server sends them to browsers that accept them. */
function compressedAssets(): Plugin {
  return {
    name: "compressed-assets",
    apply: "build",
    writeBundle({ dir }) {
      const folder = join(dir ?? "dist", "assets");
      for (const name of readdirSync(folder).filter((one) => TEXT.test(one))) {
        const file = join(folder, name);
        const bytes = readFileSync(file);
        const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
        writeFileSync(`${file}.br`, brotliCompressSync(bytes, brotli));
        writeFileSync(`${file}.gz`, gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION }));
      }
    },
  };
}

// The web server serves the build at the root of the site; in development the API is proxied to it. The CSS target is where `light-dark()` is native.
export default defineConfig({
  plugins: [react(), compressedAssets()],
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
