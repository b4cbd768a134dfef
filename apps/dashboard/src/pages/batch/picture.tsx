import type { ResponseOf } from '@millrace/contract/server-client';
import { lazy, type ReactNode, Suspense } from 'react';
import { Card } from '../../parts/card.js';
import { Empty } from '../../parts/said.js';
import { countText } from '../../rules/amounts.js';

/** What draws it is large: everything else of the page is there before it. */
const DagPicture = lazy(() => import('./dag-picture.js').then(({ DagPicture }) => ({ default: DagPicture })));

/** Who waits for whom, drawn; or why it is not. */
export function Picture({
  details,
  chosen,
  onChoose,
}: {
  readonly details: ResponseOf<'getBatch'>;
  readonly chosen: string;
  readonly onChoose: (key: string) => void;
}): ReactNode {
  const { tasks, edges, batch, criticalPath } = details;
  if (edges === null || tasks.length < batch.taskCount)
    return (
      <Card>
        <Empty title={`${countText(batch.taskCount)} tasks are too many to draw`}>
          <p>They are in the table below, which can be searched by state.</p>
        </Empty>
      </Card>
    );
  return (
    <section className="card batch-picture" aria-label="The tasks and who waits for whom">
      <Suspense fallback={<div className="view-awaited" role="status" aria-label="Loading" />}>
        <DagPicture
          tasks={tasks}
          edges={edges}
          path={criticalPath?.keys ?? []}
          chosen={chosen}
          onChoose={onChoose}
        />
      </Suspense>
    </section>
  );
}
