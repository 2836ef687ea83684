import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { StateEffect, StateField, type EditorState, type Extension } from "@codemirror/state";
import { Decoration, EditorView, WidgetType, type DecorationSet } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { changedRanges } from "../../lib/difference";
import { byteOffset } from "../../lib/editing";
import { readingLines } from "../../lib/reading";

/** Replaces the text of the other side. */
export const setOtherText = StateEffect.define<string>();
/** The text of the other side, to mark the differences. */
export const otherText = StateField.define<string>({
  create: () => "",
  update: (text, transaction) =>
    transaction.effects.reduce((found, effect) => (effect.is(setOtherText) ? effect.value : found), text),
});

/** Mark the characters that the other side does not have. */
export function differenceMarks(side: "original" | "edited"): Extension {
  const mark = Decoration.mark({ class: side === "original" ? "cm-removed" : "cm-added" });
  const marks = (state: EditorState) => {
    const [mine, other] = [state.sliceDoc(), state.field(otherText)];
    const ranges =
      side === "original"
        ? changedRanges(mine, other).map(({ fromA, toA }) => [fromA, toA])
        : changedRanges(other, mine).map(({ fromB, toB }) => [fromB, toB]);
    return Decoration.set(ranges.flatMap(([from = 0, to = 0]) => (to > from ? [mark.range(from, to)] : [])));
  };
  return StateField.define<DecorationSet>({
    create: marks,
    update: (old, transaction) =>
      transaction.docChanged || transaction.effects.some((effect) => effect.is(setOtherText))
        ? marks(transaction.state)
        : old,
    provide: (field) => EditorView.decorations.from(field),
  });
}

/** A byte offset and an indent at the start of a displayed line. They are not part of the text. */
class LineStartWidget extends WidgetType {
  constructor(
    readonly at: number,
    readonly depth: number,
    readonly breaks: boolean,
  ) {
    super();
  }

  override eq(other: LineStartWidget): boolean {
    return other.at === this.at && other.depth === this.depth && other.breaks === this.breaks;
  }

  override get lineBreaks(): number {
    return this.breaks ? 1 : 0;
  }

  override toDOM(): HTMLElement {
    const start = document.createElement("span");
    start.className = "cm-line-start";
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

function lineStartWidgets(state: EditorState): DecorationSet {
  const text = state.sliceDoc();
  let bytes = 0;
  let from = 0;
  return Decoration.set(
    readingLines(text).map((line) => {
      bytes += byteOffset(text.slice(from, line.from), line.from - from);
      from = line.from;
      const breaks = line.from > 0 && text[line.from - 1] !== "\n";
      return Decoration.widget({ widget: new LineStartWidget(bytes, line.depth, breaks), side: -1 }).range(line.from);
    }),
  );
}

/** Shows compact JSON with one member per line without changing the text. */
export const displayLineBreaks = StateField.define<DecorationSet>({
  create: lineStartWidgets,
  update: (old, transaction) => (transaction.docChanged ? lineStartWidgets(transaction.state) : old),
  provide: (field) => EditorView.decorations.from(field),
});

export const editorTheme: Extension = [
  EditorView.theme({
    "&": { font: "12px/18px var(--mono)", background: "none", color: "var(--text)" },
    "&.cm-focused": { outline: "none" },
    ".cm-scroller": { fontFamily: "inherit", lineHeight: "inherit" },
    ".cm-content": { padding: "10px 0", caretColor: "var(--text)", minHeight: "74px" },
    ".cm-line": { padding: "0 12px 0 56px", wordBreak: "break-all" },
    ".cm-line-start i": {
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
    ".cm-line-start i::before": { content: "attr(data-at)" },
    ".cm-removed": {
      background: "var(--failed-soft)",
      color: "var(--failed)",
      fontWeight: "600",
      textDecoration: "line-through",
      textDecorationThickness: "1px",
    },
    ".cm-added": { background: "var(--passed-soft)", color: "var(--passed)", fontWeight: "600" },
    ".cm-removed span, .cm-added span": { color: "inherit" },
    ".cm-specialChar": { color: "var(--unknown)", background: "var(--unknown-soft)", borderRadius: "2px" },
  }),
  syntaxHighlighting(
    HighlightStyle.define([
      { tag: tags.propertyName, color: "var(--text)" },
      { tag: [tags.number, tags.bool, tags.null], color: "var(--accent)" },
    ]),
  ),
];
