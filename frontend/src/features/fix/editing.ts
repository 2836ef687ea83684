import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { StateEffect, StateField, type EditorState, type Extension } from "@codemirror/state";
import { Decoration, EditorView, WidgetType, type DecorationSet } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { changedRanges } from "../../lib/difference";
import { byteOffset } from "../../lib/editing";
import { readingLines } from "../../lib/reading";

/** The text of the other side. */
export const setAgainst = StateEffect.define<string>();
export const against = StateField.define<string>({
  create: () => "",
  update: (text, transaction) =>
    transaction.effects.reduce((found, effect) => (effect.is(setAgainst) ? effect.value : found), text),
});

/** Marks the characters that the other side does not have. */
export function compared(side: "original" | "edited"): Extension {
  const mark = Decoration.mark({ class: side === "original" ? "cm-gone" : "cm-new" });
  const marks = (state: EditorState) => {
    const [mine, other] = [state.sliceDoc(), state.field(against)];
    const ranges =
      side === "original"
        ? changedRanges(mine, other).map((one) => [one.fromA, one.toA])
        : changedRanges(other, mine).map((one) => [one.fromB, one.toB]);
    return Decoration.set(ranges.flatMap(([from = 0, to = 0]) => (to > from ? [mark.range(from, to)] : [])));
  };
  return StateField.define<DecorationSet>({
    create: marks,
    update: (old, transaction) =>
      transaction.docChanged || transaction.effects.some((effect) => effect.is(setAgainst))
        ? marks(transaction.state)
        : old,
    provide: (field) => EditorView.decorations.from(field),
  });
}

/** Begins a line on screen: its byte offset and its indent. None of it is part of the text. */
class LineStart extends WidgetType {
  constructor(
    readonly at: number,
    readonly depth: number,
    readonly breaks: boolean,
  ) {
    super();
  }

  override eq(other: LineStart): boolean {
    return other.at === this.at && other.depth === this.depth && other.breaks === this.breaks;
  }

  override get lineBreaks(): number {
    return this.breaks ? 1 : 0;
  }

  override toDOM(): HTMLElement {
    const start = document.createElement("span");
    start.className = "cm-start";
    start.ariaHidden = "true";
    const offset = document.createElement("i");
    offset.dataset.at = String(this.at);
    start.append(this.breaks ? "\n" : "", offset, " ".repeat(this.depth));
    return start;
  }

  override ignoreEvent(): boolean {
    return false;
  }
}

function starts(state: EditorState): DecorationSet {
  const text = state.sliceDoc();
  let bytes = 0;
  let from = 0;
  return Decoration.set(
    readingLines(text).map((line) => {
      bytes += byteOffset(text.slice(from, line.from), line.from - from);
      from = line.from;
      const breaks = line.from > 0 && text[line.from - 1] !== "\n";
      return Decoration.widget({ widget: new LineStart(bytes, line.depth, breaks), side: -1 }).range(line.from);
    }),
  );
}

export const readingBreaks = StateField.define<DecorationSet>({
  create: starts,
  update: (old, transaction) => (transaction.docChanged ? starts(transaction.state) : old),
  provide: (field) => EditorView.decorations.from(field),
});

export const theme: Extension = [
  EditorView.theme({
    "&": { font: "12px/18px var(--mono)", background: "none", color: "var(--text)" },
    "&.cm-focused": { outline: "none" },
    ".cm-scroller": { fontFamily: "inherit", lineHeight: "inherit" },
    ".cm-content": { padding: "10px 0", caretColor: "var(--text)", minHeight: "74px" },
    ".cm-line": { padding: "0 12px 0 56px", wordBreak: "normal", overflowWrap: "anywhere" },
    ".cm-start i": {
      display: "inline-block",
      width: "44px",
      marginLeft: "-56px",
      marginRight: "12px",
      textAlign: "right",
      fontStyle: "normal",
      fontSize: "11px",
      color: "var(--text-3)",
      userSelect: "none",
    },
    ".cm-start i::before": { content: "attr(data-at)" },
    ".cm-gone": {
      background: "var(--failed-soft)",
      color: "var(--failed)",
      fontWeight: "600",
      textDecoration: "line-through",
      textDecorationThickness: "1px",
    },
    ".cm-new": { background: "var(--passed-soft)", color: "var(--passed)", fontWeight: "600" },
    ".cm-gone span, .cm-new span": { color: "inherit" },
    ".cm-specialChar": { color: "var(--unknown)", background: "var(--unknown-soft)", borderRadius: "2px" },
  }),
  syntaxHighlighting(
    HighlightStyle.define([
      { tag: tags.propertyName, color: "var(--text)" },
      { tag: [tags.number, tags.bool, tags.null], color: "var(--accent)" },
    ]),
  ),
];
