const NAME = String.raw`[\p{L}\p{N}_.+-][\p{L}\p{N}_.@+-]{0,149}`; // the characters of user names
const MENTION = new RegExp(String.raw`(?<![\p{L}\p{N}_@])@${NAME}`, "gu");
const STARTED = /(?<![\p{L}\p{N}_@])@([\p{L}\p{N}_.@+-]{0,150})$/u;
const MOST_SUGGESTIONS = 6;

export interface NotePart {
  text: string;
  isMention: boolean;
}

/** Split a note into mentions such as "@ada" and the text between them. */
export function noteParts(note: string): NotePart[] {
  const parts: NotePart[] = [];
  let end = 0;
  for (const { 0: found, index } of note.matchAll(MENTION)) {
    const mention = found.replace(/[.+-]+$/, ""); // a full stop at the end belongs to the sentence
    if (mention === "@") continue;
    parts.push({ text: note.slice(end, index), isMention: false }, { text: mention, isMention: true });
    end = index + mention.length;
  }
  return [...parts, { text: note.slice(end), isMention: false }].filter(({ text }) => text !== "");
}

/** Return the part of a name that is typed after "@" before the caret; undefined if none is. */
export function startedMention(text: string, caret: number): string | undefined {
  return STARTED.exec(text.slice(0, caret))?.[1];
}

/** Return the people whose names contain what is typed; names that begin with it come first. */
export function suggestedPeople(people: readonly string[], typed: string): string[] {
  const wanted = typed.toLowerCase();
  const begins = (name: string) => name.toLowerCase().startsWith(wanted);
  const found = people.filter((name) => name.toLowerCase().includes(wanted));
  return [...found.filter(begins), ...found.filter((name) => !begins(name))].slice(0, MOST_SUGGESTIONS);
}

/** Return the text with the started mention completed, and the new position of the caret. */
export function completeMention(text: string, caret: number, name: string): { text: string; caret: number } {
  const start = caret - (startedMention(text, caret)?.length ?? 0);
  const before = `${text.slice(0, start)}${name} `;
  return { text: before + text.slice(caret).replace(/^ /, ""), caret: before.length };
}
