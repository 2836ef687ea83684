import { noteParts } from "../lib/mentions";

/** A note, with the mentioned people in bold. */
export function NoteText({ text }: { text: string }) {
  return noteParts(text).map((part, index) => (part.isMention ? <b key={index}>{part.text}</b> : part.text));
}
