import { Suspense, lazy, type ComponentProps } from "react";

const ConfirmDialog = lazy(() => import("./Dialog").then((module) => ({ default: module.ConfirmDialog })));

/** An open confirmation whose code is loaded when it is shown, for screens that load first. */
export function LazyConfirmDialog(props: Omit<ComponentProps<typeof ConfirmDialog>, "open">) {
  return (
    <Suspense>
      <ConfirmDialog {...props} open />
    </Suspense>
  );
}
