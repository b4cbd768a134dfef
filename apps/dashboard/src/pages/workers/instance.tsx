import type { InstanceBody } from '@millrace/contract';
import type { ReactNode } from 'react';
import { Button } from '../../parts/button.js';
import { Card } from '../../parts/card.js';
import { Copyable } from '../../parts/copyable.js';
import { Meter } from '../../parts/meter.js';
import { Facts } from '../../parts/stat.js';
import { Status, Tag } from '../../parts/status.js';
import { Ago, Lasted } from '../../parts/when.js';
import { bytesText, counted, countText, NOTHING } from '../../rules/amounts.js';
import { heapTone, instanceName, instanceState, isScaling } from '../../rules/fleet.js';
import { durationText } from '../../rules/times.js';
import { shownText } from '../../rules/written-json.js';
import { Checks } from './backends.js';

/** One live process: what it is, what it runs, what it may run. */
export function Instance({
  instance,
  onScale,
}: {
  readonly instance: InstanceBody;
  /** undefined: this caller may not. */
  readonly onScale: (() => void) | undefined;
}): ReactNode {
  const { role, version, workerCount, busy, startedAt, seenAt, outboxConcurrency, backends } = instance;
  const name = shownText(instanceName(instance));
  const { status, tone } = instanceState(instance);
  return (
    <Card
      title={
        <span className="row">
          {name} <Status status={status} tone={tone} />
        </span>
      }
      note={<Stopping instance={instance} />}
      aside={
        onScale &&
        workerCount !== null && (
          <Button icon="settings" aria-label={`Scale ${name}`} onClick={onScale}>
            Scale
          </Button>
        )
      }
    >
      <div className="stack">
        <Facts
          facts={[
            ['Role', ROLES[role]],
            ['Version', shownText(version)],
            ['Started', <Ago key="started" at={startedAt} />],
            ['Seen', <Ago key="seen" at={seenAt} />],
            ['Workers', <WorkerCount key="workers" instance={instance} />],
            [
              'Tasks of batches',
              outboxConcurrency === null ? 'runs none' : of(busy.tasks, outboxConcurrency),
            ],
            ['Requests', countText(busy.requests)],
            ['Streams', countText(busy.streams)],
            ['Memory', <Memory key="memory" instance={instance} />],
          ]}
        />
        {backends.some(({ ok }) => !ok) && <Checks checks={backends} />}
        <Runs instance={instance} />
      </div>
    </Card>
  );
}

const ROLES = { all: 'serves and works', api: 'serves', worker: 'works' } as const;

const of = (some: number, all: number): string => `${countText(some)} of ${countText(all)} run`;

function Stopping({ instance }: { readonly instance: InstanceBody }): ReactNode {
  const { stoppingSince, gracePeriodMs } = instance;
  if (stoppingSince === null) return null;
  return (
    <>
      Stopping for <Lasted from={stoppingSince} to={null} />
      {gracePeriodMs !== null && `; it has ${durationText(gracePeriodMs)}`}. It takes no more requests and
      ends what runs.
    </>
  );
}

function WorkerCount({ instance }: { readonly instance: InstanceBody }): ReactNode {
  const { workerCount, wantedWorkers, busy } = instance;
  if (workerCount === null) return 'runs none';
  return (
    <span className="stack workers-count">
      <span className="number">
        {countText(Math.min(busy.jobs, workerCount))} of {countText(workerCount)} busy
      </span>
      {isScaling(instance) ? (
        <Tag tone="hold">{`${countText(wantedWorkers)} wanted, ${countText(workerCount)} there`}</Tag>
      ) : (
        wantedWorkers !== null && <span className="quiet small">scaled by hand</span>
      )}
    </span>
  );
}

const MEGABYTE = 1024 ** 2;
/** In a shorter time a heap grows and shrinks by chance. */
const WORTH_SAYING_MS = 60_000;

function Memory({ instance: { memory } }: { readonly instance: InstanceBody }): ReactNode {
  if (!memory) return NOTHING;
  const { rssBytes, heapUsedBytes, heapLimitBytes, grownBytes, overMs } = memory;
  const used = { label: 'MB used', value: Math.round(heapUsedBytes / MEGABYTE), tone: heapTone(memory) };
  return (
    <span className="stack workers-memory">
      <span className="number">
        {bytesText(rssBytes)}, heap {bytesText(heapUsedBytes)} of {bytesText(heapLimitBytes)}
      </span>
      <Meter label="Heap" parts={[used]} total={Math.round(heapLimitBytes / MEGABYTE)} />
      {overMs >= WORTH_SAYING_MS && (
        <span className="quiet small number">
          {grownBytes < 0 ? 'shrunk' : 'grown'} by {bytesText(Math.abs(grownBytes))} in {durationText(overMs)}
        </span>
      )}
    </span>
  );
}

/** As many as the server names. */
const NAMED_MAX = 500;

function Runs({ instance }: { readonly instance: InstanceBody }): ReactNode {
  const { processors, dags, routes, instanceId, bulkInstanceId, pool } = instance;
  const summary = [
    counted(processors.length, 'processor'),
    counted(dags.length, 'DAG'),
    counted(routes.length, 'command'),
  ].join(', ');
  return (
    <details className="workers-runs">
      <summary>What it knows: {summary}</summary>
      <div className="stack">
        <Names title="Processors of bulk jobs" names={processors} />
        <Names title="DAGs" names={dags} />
        <Names title="Commands" names={routes} />
        <Facts
          facts={[
            ['Instance', <Copyable key="instance" text={shownText(instanceId)} label="the instance" />],
            ['Among workers', <Copyable key="bulk" text={shownText(bulkInstanceId)} label="its other id" />],
            pool !== null && ['Takes jobs from the queue', pool.fetcherRunning ? 'yes' : 'no'],
            pool !== null && ['Longest run of a job', durationText(pool.jobTimeoutMs)],
            pool !== null && [
              'Fetches',
              `${countText(pool.fetchBatchSize)} at once, every ${durationText(pool.fetchIntervalMs)}`,
            ],
          ]}
        />
      </div>
    </details>
  );
}

function Names({ title, names }: { readonly title: string; readonly names: readonly string[] }): ReactNode {
  if (names.length === 0) return null;
  return (
    <div>
      <h3>
        {title} <span className="quiet number">{countText(names.length)}</span>
      </h3>
      <ul className="workers-names mono small">
        {names.map((name) => (
          <li key={name}>{shownText(name)}</li>
        ))}
      </ul>
      {names.length >= NAMED_MAX && <p className="quiet small">More may be known than are named.</p>}
    </div>
  );
}
