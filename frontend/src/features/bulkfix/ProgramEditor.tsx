import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";

const THEME = [
  EditorView.theme({
    "&": {
      font: "12px/18px var(--mono)",
      background: "var(--surface)",
      color: "var(--text)",
      border: "1px solid var(--line-strong)",
      borderRadius: "var(--radius-2)",
    },
    "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-1px" },
    ".cm-scroller": { fontFamily: "inherit", lineHeight: "inherit", maxHeight: "260px" },
    ".cm-content": { padding: "8px 0", minHeight: "72px", caretColor: "var(--text)" },
    ".cm-line": { padding: "0 12px" },
    ".cm-placeholder": { color: "var(--text-3)" },
  }),
  syntaxHighlighting(HighlightStyle.define([{ tag: [tags.number, tags.bool, tags.null], color: "var(--accent)" }])),
];
const EXAMPLES = { jq: ".properties.gap //= 0", patch: '[{"op": "replace", "path": "/properties/gap", "value": 0}]' };

/** Text to be written where the cursor is. A new object is written once. */
export interface Insertion {
  text: string;
}

/** The program as it is typed. */
export default function ProgramEditor({
  kind,
  text,
  insertion,
  onChange,
}: {
  kind: "jq" | "patch";
  /** The text to begin with: another one needs another key. */
  text: string;
  insertion: Insertion | null;
  onChange: (text: string) => void;
}) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const written = useRef(insertion);
  const report = useRef(onChange);
  const first = useRef(text);
  useEffect(() => {
    report.current = onChange;
  });
  useEffect(() => {
    const made = new EditorView({
      parent: host.current!,
      state: EditorState.create({
        doc: first.current,
        extensions: [
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({
            "aria-label": kind === "jq" ? "jq program" : "JSON Patch",
            spellcheck: "false",
            autocapitalize: "off",
            autocorrect: "off",
            translate: "no",
          }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) report.current(update.state.sliceDoc());
          }),
          history(),
          keymap.of([...defaultKeymap, ...historyKeymap]),
          placeholder(EXAMPLES[kind]),
          ...(kind === "patch" ? [json().language] : []),
          THEME,
        ],
      }),
    });
    view.current = made;
    made.focus();
    return () => made.destroy();
  }, [kind]);
  useEffect(() => {
    if (!insertion || insertion === written.current || !view.current) return;
    written.current = insertion;
    view.current.dispatch(view.current.state.replaceSelection(insertion.text));
    view.current.focus();
  }, [insertion]);
  return <div ref={host} />;
}
