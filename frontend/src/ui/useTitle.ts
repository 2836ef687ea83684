import { useEffect } from "react";

/** Set the document title. */
export function useTitle(name: string): void {
  useEffect(() => {
    document.title = `${name} · dlqadmin`;
  }, [name]);
}
