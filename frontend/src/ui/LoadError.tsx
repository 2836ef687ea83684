import type { ReactNode } from "react";
import { Button } from "./controls";
import { Notice } from "./Panel";

/** What stands where an answer would, when it could not be loaded: what failed, why, and what to do. */
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
