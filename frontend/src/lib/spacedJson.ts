const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** A list or an object, with its text on one line; or the text of a scalar. */
type Node = string | { line: string; items: { name: string; value: Node }[] };

/**
 * Return valid JSON in which lists and objects that fit `width` stay on one line. Every scalar and name keeps its
 * text, because a parsed number may lose digits.
 */
export function spacedJson(text: string, width: number): string {
  return spaced(nodeOf((text.match(TOKEN) ?? []).reverse()), "", width);
}

/** Return the first node, and remove its tokens. The last token comes first. */
function nodeOf(tokens: string[]): Node {
  const open = tokens.pop() ?? "";
  if (open !== "{" && open !== "[") return open;
  const items: { name: string; value: Node }[] = [];
  const close = open === "{" ? "}" : "]";
  while (tokens.length > 0 && tokens.at(-1) !== close) {
    if (tokens.at(-1) === ",") tokens.pop();
    const name = open === "{" ? `${tokens.pop()}${tokens.pop()}` : "";
    items.push({ name, value: nodeOf(tokens) });
  }
  tokens.pop();
  return { line: `${open}${items.map(({ name, value }) => name + lineOf(value)).join(",")}${close}`, items };
}

function lineOf(node: Node): string {
  return typeof node === "string" ? node : node.line;
}

function spaced(node: Node, indent: string, width: number): string {
  if (typeof node === "string" || node.items.length === 0 || indent.length + node.line.length <= width)
    return lineOf(node);
  const inner = `${indent}  `;
  const lines = node.items.map(({ name, value }) => `${inner}${name && `${name} `}${spaced(value, inner, width)}`);
  return `${node.line[0]}\n${lines.join(",\n")}\n${indent}${node.line.at(-1)}`;
}
