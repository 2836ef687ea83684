import { Component, type ErrorInfo, type ReactNode } from "react";
import { reloadForNewBuild } from "../lib/serverState";
import { Button } from "./controls";
import { Notice, PageHead, Panel } from "./Panel";

interface Props {
  /** A change of this value, such as the path, shows the children again. */
  resetKey: string;
  children: ReactNode;
}

/** Catches an error of a screen, so that navigation stays usable. Reloads the page if the server has a new build. */
export class ErrorBoundary extends Component<Props, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: unknown): { error: Error } {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override componentDidCatch(error: Error, info: ErrorInfo): void {
    console.error(error, info.componentStack);
    // After a deployment the chunks of the old build are gone. If the server is away, the notice stays.
    reloadForNewBuild().catch(() => undefined);
  }

  override componentDidUpdate(before: Props): void {
    if (before.resetKey !== this.props.resetKey && this.state.error) this.setState({ error: null });
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <>
        <PageHead title="This screen failed" />
        <Panel>
          <Notice
            title={error.message}
            actions={
              <>
                <Button onClick={() => window.location.reload()}>Reload the page</Button>
                <Button to="/">Go to the overview</Button>
              </>
            }
          >
            Nothing was sent. If it fails again after a reload, report the address of this page and this text.
          </Notice>
        </Panel>
      </>
    );
  }
}
