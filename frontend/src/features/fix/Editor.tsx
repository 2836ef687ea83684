import { defaultKeymap, history, historyKeymap, insertNewline } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { EditorState } from "@codemirror/state";
import { EditorView, highlightSpecialChars, keymap } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { against, compared, readingBreaks, setAgainst, theme } from "./editing";

interface Props {
  label: string;
  text: string;
  /** The other side, by which what differs is marked. */
  other: string;
  side: "original" | "edited";
  locked?: boolean;
  onChange?: (text: string) => void;
}

/** A text with line breaks for reading; the text itself is what was given and what is typed, character by character. */
export default function Editor({ label, text, other, side, locked, onChange }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const report = useRef(onChange);
  const now = useRef({ text, other });
  useEffect(() => {
    report.current = onChange;
    now.current = { text, other }; // what a view that is made anew begins with, such as when the window became too narrow to write
  });
  useEffect(() => {
    const readOnly = side === "original" || locked === true;
    const made = new EditorView({
      parent: host.current!,
      state: EditorState.create({
        doc: now.current.text,
        extensions: [
          EditorState.lineSeparator.of("\n"), // a carriage return is a byte of the value, no line end
          EditorState.readOnly.of(readOnly),
          EditorView.editable.of(!readOnly),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({
            "aria-label": label,
            spellcheck: "false",
            autocapitalize: "off",
            autocorrect: "off",
            translate: "no",
            ...(readOnly && { tabindex: "0" }),
          }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) report.current?.(update.state.sliceDoc());
          }),
          history(),
          keymap.of([{ key: "Enter", run: insertNewline }, ...defaultKeymap, ...historyKeymap]),
          highlightSpecialChars(),
          json().language,
          against.init(() => now.current.other),
          compared(side),
          readingBreaks,
          theme,
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, [label, side, locked]);
  useEffect(() => {
    const made = view.current;
    if (!made) return;
    if (made.state.sliceDoc() !== text)
      made.dispatch({ changes: { from: 0, to: made.state.doc.length, insert: text } });
    if (made.state.field(against) !== other) made.dispatch({ effects: setAgainst.of(other) });
  }, [text, other]);
  return <div ref={host} data-testid={`${side}-text`} />;
}
