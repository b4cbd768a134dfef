import { Component, type ReactNode } from 'react';
import { Button } from '../parts/button.js';
import { Card } from '../parts/card.js';

interface ViewGuardState {
  readonly hasFailed: boolean;
}

/** A view that cannot be drawn, or whose files are gone since the server was updated, leaves the rest of the page as it is. */
export class ViewGuard extends Component<{ readonly children: ReactNode }, ViewGuardState> {
  override readonly state: ViewGuardState = { hasFailed: false };

  /** Called by React. */
  static getDerivedStateFromError(): ViewGuardState {
    return { hasFailed: true };
  }

  /** Called by React. */
  override render(): ReactNode {
    if (!this.state.hasFailed) return this.props.children;
    return (
      <Card title="This view could not be shown">
        <div className="stack">
          <p>The server may have been updated since this page was loaded; loading it again mostly helps.</p>
          <div className="row">
            <Button look="main" icon="retry" onClick={() => location.reload()}>
              Load the page again
            </Button>
          </div>
        </div>
      </Card>
    );
  }
}
