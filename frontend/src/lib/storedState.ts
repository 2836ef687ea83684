import { useState } from "react";

/** State in the browser's localStorage. `read` converts the stored text (null at first) to a valid value. */
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
      // Without storage the value lasts until the page closes.
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
