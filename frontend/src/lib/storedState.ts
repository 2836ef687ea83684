import { useState } from "react";

/** A choice that this browser keeps under a name; `read` turns what is kept, null at first, into a value that is one. */
export function useStoredState<T>(
  name: string,
  read: (kept: string | null) => T,
  write: (value: T) => string,
): [T, (value: T) => void] {
  const [value, setValue] = useState(() => read(storedValue(name)));
  const keep = (next: T) => {
    setValue(next);
    try {
      localStorage.setItem(name, write(next));
    } catch {
      // It holds as long as the page is open.
    }
  };
  return [value, keep];
}

function storedValue(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}
