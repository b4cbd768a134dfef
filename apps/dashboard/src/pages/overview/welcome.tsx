import type { ReactNode } from 'react';
import { useAct } from '../../data/act.js';
import { useSession } from '../../data/session.js';
import { Button } from '../../parts/button.js';
import { Card } from '../../parts/card.js';
import { Copyable } from '../../parts/copyable.js';
import { demoRole, firstCommand } from '../../rules/first-steps.js';

/** A server on which nothing has happened yet: what this is, and how to begin. */
export function Welcome(): ReactNode {
  const { may, apiKey, seesAll, caller } = useSession();
  const demo = useAct('startDemo', { done: () => 'The demo runs for a minute: look at the shares.' });
  const command = firstCommand({ origin: location.origin, needsKey: apiKey !== undefined, seesAll });
  return (
    <Card title="Nothing has happened here yet">
      <div className="stack">
        <p className="quiet">
          Millrace runs the work of many tenants: each gets a fair share, services are called within their
          limits, and nothing is lost. Submit your first group:
        </p>
        <Copyable isBlock label="the command" text={command} />
        {may(demoRole(caller.embedded)) && seesAll && (
          <div className="row">
            <Button look="main" icon="play" isBusy={demo.isPending} onClick={() => demo.mutate({ body: {} })}>
              Run the demo
            </Button>
            <span className="quiet">
              One large tenant, six small ones, a service that refuses calls, a DAG, a chat.
            </span>
          </div>
        )}
      </div>
    </Card>
  );
}
