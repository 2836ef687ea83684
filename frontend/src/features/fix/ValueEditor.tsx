import { defaultKeymap, history, historyKeymap, insertNewline } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { EditorState } from "@codemirror/state";
import { EditorView, highlightSpecialChars, keymap } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { differenceMarks, displayLineBreaks, editorTheme, otherText, setOtherText } from "./editorExtensions";

interface Props {
  label: string;
  text: string;
  /** The text of the other side, to mark the differences. */
  other: string;
  side: "original" | "edited";
  locked?: boolean;
  onChange?: (text: string) => void;
}

/** A CodeMirror editor that shows line breaks for reading. It never changes the text itself. */
export default function ValueEditor({ label, text, other, side, locked, onChange }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const onChangeRef = useRef(onChange);
  const latest = useRef({ text, other });
  useEffect(() => {
    onChangeRef.current = onChange;
    latest.current = { text, other }; // a new view starts with these, for example after the window became too narrow to edit
  });
  useEffect(() => {
    const readOnly = side === "original" || locked === true;
    const editor = new EditorView({
      parent: host.current!,
      state: EditorState.create({
        doc: latest.current.text,
        extensions: [
          EditorState.lineSeparator.of("\n"), // a carriage return is a byte of the value, not a line break
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
            if (update.docChanged) onChangeRef.current?.(update.state.sliceDoc());
          }),
          history(),
          keymap.of([{ key: "Enter", run: insertNewline }, ...defaultKeymap, ...historyKeymap]),
          highlightSpecialChars(),
          json().language,
          otherText.init(() => latest.current.other),
          differenceMarks(side),
          displayLineBreaks,
          editorTheme,
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, [label, side, locked]);
  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    if (editor.state.sliceDoc() !== text)
      editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
    if (editor.state.field(otherText) !== other) editor.dispatch({ effects: setOtherText.of(other) });
  }, [text, other]);
  return <div ref={host} data-testid={`${side}-text`} />;
}
