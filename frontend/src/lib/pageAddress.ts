const HOLES = ["title", "message", "group", "topic", "connector", "link"] as const;
const LONGEST_VALUE = 1000; // characters; servers refuse addresses of more than some 8,000 bytes

export type TemplateValues = Record<(typeof HOLES)[number], string>;

/** Return the address of a page, or undefined for any other text, such as one that runs a script. */
export function pageAddress(text: string): string | undefined {
  if (!URL.canParse(text.trim())) return undefined;
  const { protocol, href } = new URL(text.trim());
  return protocol === "https:" || protocol === "http:" ? href : undefined;
}

/** Fill the template of an issue tracker's form. */
export function fillTemplate(template: string, values: TemplateValues): string | undefined {
  const filled = template.replace(new RegExp(`\\{(${HOLES.join("|")})\\}`, "g"), (_, hole: keyof TemplateValues) =>
    encodeURIComponent(values[hole].slice(0, LONGEST_VALUE).replace(/\p{Surrogate}/gu, "\ufffd")),
  );
  return pageAddress(filled);
}
