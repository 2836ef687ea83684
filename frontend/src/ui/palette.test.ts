import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

type Triple = [number, number, number];
type Matrix = [Triple, Triple, Triple];

const TOKENS = readFileSync("src/ui/tokens.css", "utf8");
const SERIES = /--((?:put|value|trans|other)-\d|others): light-dark\((#\w{6}), (#\w{6})\)/g;
const SURFACE = /--surface: light-dark\((#\w{6}), (#\w{6})\)/;

/** How people see colours. Machado, Oliveira and Fernandes 2009, severity 1.0, for linear RGB. */
const VISION: Record<string, Matrix> = {
  "full colour vision": [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

/** OKLab: https://bottosson.github.io/posts/oklab/ */
const TO_LMS: Matrix = [
  [0.4122214708, 0.5363325363, 0.0514459929],
  [0.2119034982, 0.6806995451, 0.1073969566],
  [0.0883024619, 0.2817188376, 0.6299787005],
];
const TO_LAB: Matrix = [
  [0.2104542553, 0.793617785, -0.0040720468],
  [1.9779984951, -2.428592205, 0.4505937099],
  [0.0259040371, 0.7827717662, -0.808675766],
];

function times(matrix: Matrix, vector: Triple): Triple {
  return matrix.map((row) => row[0] * vector[0] + row[1] * vector[1] + row[2] * vector[2]) as Triple;
}

function linear(hex: string): Triple {
  return [1, 3, 5].map((at) => {
    const part = parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as Triple;
}

function oklab(hex: string, vision: Matrix): Triple {
  const seen = times(vision, linear(hex)).map((part) => Math.min(1, Math.max(0, part))) as Triple;
  return times(TO_LAB, times(TO_LMS, seen).map(Math.cbrt) as Triple);
}

function luminance(hex: string): number {
  const [red, green, blue] = linear(hex);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const THEMES = ["light", "dark"].map((theme, index) => ({
  theme,
  surface: SURFACE.exec(TOKENS)?.[index + 1] ?? "",
  series: [...TOKENS.matchAll(SERIES)].map((found) => ({ name: found[1] ?? "", hex: found[index + 2] ?? "" })),
}));

it.each(THEMES)("each series of a $theme chart stands out from the surface (WCAG 1.4.11)", ({ surface, series }) => {
  expect(series).toHaveLength(10);
  for (const { name, hex } of series) {
    const [high, low] = [luminance(hex), luminance(surface)].sort((a, b) => b - a) as [number, number];
    expect((high + 0.05) / (low + 0.05), name).toBeGreaterThanOrEqual(3);
  }
});

it.each(THEMES.flatMap((one) => Object.entries(VISION).map(([vision, matrix]) => ({ ...one, vision, matrix }))))(
  "no two series of a $theme chart look alike with $vision",
  ({ series, matrix }) => {
    const seen = series.map(({ name, hex }) => ({ name, at: oklab(hex, matrix) }));
    for (const [index, one] of seen.entries()) {
      for (const other of seen.slice(index + 1)) {
        const distance = Math.hypot(...one.at.map((part, at) => part - (other.at[at] ?? 0)));
        expect(distance, `${one.name} and ${other.name}`).toBeGreaterThanOrEqual(0.1); // 0.02 is just noticeable
      }
    }
  },
);
