import type { ReactNode } from "react";
import { Button } from "./controls";
import { Notice } from "./Panel";

/** Replaces content that could not be loaded, with the error and a retry button. */
export function LoadError({
  title,
  error,
  onAgain,
  children,
}: {
  title: ReactNode;
  error: Error;
  onAgain?: () => void;
  children?: ReactNode;
}) {
  return (
    <Notice
      title={title}
      actions={
        <>
          {onAgain && <Button onClick={onAgain}>Try again</Button>}
          {children}
        </>
      }
    >
      {error.message}
    </Notice>
  );
}
