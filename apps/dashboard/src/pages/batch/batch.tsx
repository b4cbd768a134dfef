import type { ResponseOf } from '@millrace/contract/server-client';
import { type ReactNode, useCallback, useRef } from 'react';
import { useAsk } from '../../data/ask.js';
import { useFilters } from '../../data/filters.js';
import { PageHead } from '../../parts/page-head.js';
import { ProblemNote } from '../../parts/said.js';
import { Status } from '../../parts/status.js';
import { hrefOf, type ViewProps } from '../../rules/hrefs.js';
import { shownText } from '../../rules/written-json.js';
import './batch.css';
import { BatchActions } from './batch-actions.js';
import { BatchProgress } from './batch-progress.js';
import { BatchTasks } from './batch-tasks.js';
import { FailedTasks } from './failed-tasks.js';
import { Picture } from './picture.js';
import { TaskPanel } from './task-panel.js';
import { useTaskRows } from './task-rows.js';

/** That a task starts is told by no change. What is large is asked for less often: it is hundreds of kilobytes each time. */
const RUNNING_LOOK_MS = 1_000;
const LARGE_LOOK_MS = 3_000;
const LARGE_FROM = 200;

const lookAgainMs = (details: ResponseOf<'getBatch'> | undefined): number | false => {
  if (details?.batch.status !== 'RUNNING') return false;
  return details.tasks.length < LARGE_FROM ? RUNNING_LOOK_MS : LARGE_LOOK_MS;
};

/** One run of a DAG: how far it is, what determines how long it takes, what failed and why. */
export function Batch({ params }: ViewProps): ReactNode {
  const batchId = params.batchId ?? '';
  const { values, set } = useFilters('task');
  const panel = useRef<HTMLElement>(null);
  const { data, error } = useAsk(
    'getBatch',
    { params: { batchId } },
    {
      everyMs: lookAgainMs,
      keepsShown: false,
    },
  );
  const tasks = useTaskRows(data);
  const choose = useCallback((task: string) => set({ task }), [set]);
  const chooseAndGo = useCallback(
    (task: string) => {
      choose(task);
      panel.current?.focus();
    },
    [choose],
  );
  const above = [['Batches', hrefOf('batches')]] as const;
  if (!data)
    return (
      <>
        <PageHead title={`Batch ${batchId}`} above={above} />
        {error ? (
          <ProblemNote error={error} />
        ) : (
          <div className="batch-awaited" role="status" aria-label="Loading" />
        )}
      </>
    );
  const { batch } = data;
  return (
    <>
      <PageHead
        title={shownText(batch.bizKey)}
        above={above}
        mark={<Status status={batch.status} />}
        note={<BatchNote batch={batch} />}
      >
        <BatchActions details={data} />
      </PageHead>
      <BatchProgress details={data} />
      <div className="batch-halves">
        <Picture details={data} chosen={values.task} onChoose={choose} />
        <aside ref={panel} className="card batch-panel" tabIndex={-1} aria-label="What is chosen">
          {values.task === '' ? (
            <FailedTasks details={data} onChoose={choose} />
          ) : (
            <TaskPanel details={data} others={tasks.rows ?? []} taskKey={values.task} onChoose={choose} />
          )}
        </aside>
      </div>
      <BatchTasks details={data} tasks={tasks} chosen={values.task} onChoose={chooseAndGo} />
    </>
  );
}

function BatchNote({
  batch: { dag, dagVersion, tenant, runNo, schedule },
}: {
  readonly batch: ResponseOf<'getBatch'>['batch'];
}): ReactNode {
  const of = tenant === '' ? '' : ` of ${shownText(tenant)}`;
  const by = schedule === null ? '' : `, by the schedule ${shownText(schedule)}`;
  return `${shownText(dag)} v${dagVersion}${of}, run ${runNo}${by}`;
}
