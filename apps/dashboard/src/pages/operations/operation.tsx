import type { OperationBody } from '@millrace/contract';
import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { useAsk } from '../../data/ask.js';
import { useSession } from '../../data/session.js';
import { Button } from '../../parts/button.js';
import { Card } from '../../parts/card.js';
import { Copyable } from '../../parts/copyable.js';
import { JsonView } from '../../parts/long-text.js';
import { PageHead } from '../../parts/page-head.js';
import { ProblemNote } from '../../parts/said.js';
import { Facts, Stat, Stats } from '../../parts/stat.js';
import { Status } from '../../parts/status.js';
import { Ago, Lasted } from '../../parts/when.js';
import { NOTHING } from '../../rules/amounts.js';
import { hrefOf, type ViewProps } from '../../rules/hrefs.js';
import { hasEnded, shownState } from '../../rules/operation-steps.js';
import { momentText } from '../../rules/times.js';
import { shownText } from '../../rules/written-json.js';
import { CancelOperation } from './cancel-operation.js';
import './operations.css';
import { Timeline } from './timeline.js';

const LOOK_EVERY_MS = 1_000;

/** One operation: what was asked for, and what has become of it. */
export function Operation({ params }: ViewProps): ReactNode {
  const opId = params.opId ?? '';
  const { data, error } = useAsk(
    'getOperationStatus',
    { params: { opId } },
    { everyMs: (known) => (known && !hasEnded(known) ? LOOK_EVERY_MS : false), keepsShown: false },
  );
  return (
    <>
      <PageHead
        title={data ? `${data.domain}.${data.eventType}` : 'Operation'}
        mark={data && <Status status={shownState(data)} />}
        note={data ? shownText(data.bizKey) : shownText(opId)}
        above={[['Operations', hrefOf('operations')]]}
      >
        {data && <Cancel operation={data} />}
      </PageHead>
      {error && !data && <ProblemNote error={error} />}
      {data && <Found operation={data} />}
    </>
  );
}

interface OperationProps {
  readonly operation: OperationBody;
}

function Cancel({ operation }: OperationProps): ReactNode {
  const { may } = useSession();
  const [isAsked, setAsked] = useState(false);
  const isOpen = may('operate') && !hasEnded(operation);
  return (
    <>
      {isOpen && (
        <Button look="danger" onClick={() => setAsked(true)}>
          Cancel…
        </Button>
      )}
      {isAsked && <CancelOperation operation={operation} onClose={() => setAsked(false)} />}
    </>
  );
}

function Found({ operation }: OperationProps): ReactNode {
  const { acceptedAt, startedAt, endedAt, attempts, attemptsMax, refusals, outcome } = operation;
  return (
    <>
      <Stats label="How it went">
        <Stat label="Accepted" value={<Ago at={acceptedAt} />} note={momentText(acceptedAt)} />
        <Stat
          label="Waited"
          value={<Lasted from={acceptedAt} to={startedAt ?? endedAt} />}
          note="for its first try"
        />
        <Stat
          label="Worked on"
          value={startedAt ? <Lasted from={startedAt} to={endedAt} /> : NOTHING}
          note={
            <>
              <Lasted from={acceptedAt} to={endedAt} /> in all
            </>
          }
        />
        <Stat
          label="Tries"
          value={attempts}
          unit={`of ${attemptsMax}`}
          note={refusals > 0 ? `${refusals} refused before` : undefined}
          tone={attempts > 1 ? 'hold' : undefined}
        />
      </Stats>
      <div className="operation-pair">
        <div className="stack">
          <Card title="Timeline">
            <Timeline operation={operation} />
          </Card>
          {outcome && (
            <Card title="Outcome" note={outcome.type === 'Retry' ? 'Of the last try' : undefined}>
              <JsonView label="Outcome" value={outcome} />
            </Card>
          )}
        </div>
        <Card title="What it is">
          <KnownFacts operation={operation} />
        </Card>
      </div>
    </>
  );
}

function KnownFacts({ operation }: OperationProps): ReactNode {
  const { opId, tenant, bizKey, idemKey, traceparent, deadLetter, updatedAt } = operation;
  return (
    <div className="operation-facts">
      <Facts
        facts={[
          ['Operation', <Copyable key="id" label="the id" text={opId} />],
          [
            'Business key',
            <Link key="biz" href={hrefOf('operations', undefined, { bizKey })}>
              {shownText(bizKey)}
            </Link>,
          ],
          ['Idempotency key', <Copyable key="idem" label="the idempotency key" text={shownText(idemKey)} />],
          ['Tenant', tenant === '' ? 'nobody’s' : shownText(tenant)],
          traceparent !== null && ['Trace', <code key="trace">{shownText(traceparent)}</code>],
          deadLetter && ['Dead letter', 'It failed by its work, for good'],
          ['Last change', <Ago key="updated" at={updatedAt} />],
        ]}
      />
    </div>
  );
}
