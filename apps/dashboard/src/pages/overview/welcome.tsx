import type { ReactNode } from 'react';
import { useAct } from '../../data/act.js';
import { useSession } from '../../data/session.js';
import { Button } from '../../parts/button.js';
import { Card } from '../../parts/card.js';
import { Copyable } from '../../parts/copyable.js';

/** What the demo is called where somebody submits the first group by hand: a processor that every server has. */
const FIRST_GROUP = {
  group: { id: 'first', tenantId: 'you' },
  jobs: [{ processorType: 'demo.work', payload: { ms: 100 } }],
};

/** A server on which nothing has happened yet: what this is, and how to begin. */
export function Welcome(): ReactNode {
  const { may, apiKey, seesAll } = useSession();
  const demo = useAct('startDemo', { done: () => 'The demo runs for a minute: look at the shares.' });
  return (
    <Card title="Nothing has happened here yet">
      <div className="stack">
        <p className="quiet">
          Millrace runs the work of many tenants: each gets a fair share, services are called within their
          limits, and nothing is lost. Submit your first group:
        </p>
        <Copyable isBlock label="the command" text={firstCommand(apiKey !== undefined)} />
        {may('admin') && seesAll && (
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

const firstCommand = (needsKey: boolean): string =>
  [
    `curl ${location.origin}/api/bulk/groups`,
    ...(needsKey ? [`  -H "Authorization: Bearer $MILLRACE_API_KEY"`] : []),
    `  -H "content-type: application/json"`,
    `  -d '${JSON.stringify(FIRST_GROUP)}'`,
  ].join(' \\\n');
