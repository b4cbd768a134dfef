import type { HealthCheck } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useHealth } from '../../data/health.js';
import { useNow } from '../../data/live.js';
import { useSession } from '../../data/session.js';
import { Card } from '../../parts/card.js';
import { Status } from '../../parts/status.js';
import { clockText, durationText } from '../../rules/times.js';
import { shownText } from '../../rules/written-json.js';

/** What the instance that answers needs, and how it is. */
export function Backends(): ReactNode {
  const { caller } = useSession();
  const { checks, awaySince } = useHealth();
  const note =
    awaySince === undefined
      ? 'What the instance that answers needs'
      : `As it was at ${clockText(awaySince)}: the server does not answer`;
  return (
    <Card
      title="Health"
      note={note}
      aside={caller.embedded && <span className="quiet">Embedded: one process with its own database</span>}
    >
      <Checks checks={checks} />
    </Card>
  );
}

/** Backends with their state, as somebody sees them. */
export function Checks({ checks }: { readonly checks: readonly HealthCheck[] | undefined }): ReactNode {
  const now = useNow();
  return (
    <ul className="workers-checks">
      {checks?.map(({ name, ok, message, since }) => (
        <li key={name}>
          <span className="workers-check-name">{shownText(name)}</span>
          <Status status={ok ? 'WELL' : 'DOWN'} tone={ok ? 'ok' : 'fail'} />
          {since && (
            <span className="quiet small">
              since {clockText(since)} ({durationText(now - Date.parse(since))})
            </span>
          )}
          {message && <span className="workers-check-message small">{shownText(message)}</span>}
        </li>
      ))}
    </ul>
  );
}
