import type { InstanceBody, PoolStatusBody } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useAsk } from '../../data/ask.js';
import { Card } from '../../parts/card.js';
import { Empty, ProblemNote } from '../../parts/said.js';
import { Status } from '../../parts/status.js';
import { type Column, Table } from '../../parts/table.js';
import { countText } from '../../rules/amounts.js';
import { instanceName } from '../../rules/fleet.js';
import { shownText } from '../../rules/written-json.js';

const LOOK_EVERY_MS = 5_000;

type Worker = PoolStatusBody['workers'][number];

const COLUMNS: readonly Column<Worker>[] = [
  { key: 'id', title: 'Worker', width: 'minmax(110px, 1fr)', cell: ({ id }) => shownText(id) },
  { key: 'state', title: 'State', width: '120px', cell: (worker) => <State worker={worker} /> },
  {
    key: 'job',
    title: 'Job',
    width: 'minmax(120px, 3fr)',
    cell: ({ currentJob }) =>
      currentJob === null ? (
        <span className="quiet">none</span>
      ) : (
        <span className="mono small" title={shownText(currentJob)}>
          {shownText(currentJob)}
        </span>
      ),
  },
];

/** Of one that takes jobs, whether it has one is what matters. */
function State({ worker: { state, currentJob } }: { readonly worker: Worker }): ReactNode {
  if (state !== 'RUNNING') return <Status status={state} />;
  return currentJob === null ? <Status status="IDLE" tone="wait" /> : <Status status="BUSY" tone="run" />;
}

/** What each worker of the instance that answers runs now: the others are asked at their own addresses. */
export function PoolWorkers({ instances }: { readonly instances: readonly InstanceBody[] }): ReactNode {
  const { data, error } = useAsk('getPool', {}, { everyMs: LOOK_EVERY_MS });
  const answering = instances.find(({ instanceId }) => instanceId === data?.instanceId);
  const name = answering ? shownText(instanceName(answering)) : 'this instance';
  return (
    <Card
      title="What each worker runs"
      note={`Those of ${name}, which answers here; what others run is told at their own addresses`}
      isFlush
      aside={data?.pool && <Busy pool={data.pool} />}
    >
      {error && !data && <ProblemNote error={error} />}
      {data && !data.pool ? (
        <div className="workers-none">
          <Empty title="This instance serves requests and runs no jobs" />
        </div>
      ) : (
        <Table
          label="Workers and their jobs"
          columns={COLUMNS}
          rows={data?.pool?.workers}
          rowKey={({ id }) => id}
          awaited={10}
          empty={<Empty title="There are no workers">Scale this instance to have some.</Empty>}
        />
      )}
    </Card>
  );
}

function Busy({ pool: { activeWorkers, idleWorkers } }: { readonly pool: PoolStatusBody }): ReactNode {
  return (
    <span className="quiet number">
      {countText(Math.max(0, activeWorkers - idleWorkers))} busy, {countText(idleWorkers)} idle
    </span>
  );
}
