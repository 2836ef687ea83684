import { useLocation } from "react-router";
import { Button } from "../ui/controls";
import { Notice, PageHead, Panel } from "../ui/Panel";
import { useTitle } from "../ui/useTitle";

/** The page for unknown addresses. */
export function NotFound() {
  const { pathname } = useLocation();
  useTitle("Not found");
  return (
    <>
      <PageHead title="Not found" />
      <Panel>
        <Notice
          title={
            <>
              There is no page at{" "}
              <span className="mono" style={{ overflowWrap: "anywhere" }}>
                {pathname}
              </span>
            </>
          }
          actions={<Button to="/">Go to the overview</Button>}
        >
          Check the address. It may be mistyped or belong to another version.
        </Notice>
      </Panel>
    </>
  );
}
