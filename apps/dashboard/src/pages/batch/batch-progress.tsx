import type { ResponseOf } from '@millrace/contract/server-client';
import type { ReactNode } from 'react';
import { useNow } from '../../data/live.js';
import { Card } from '../../parts/card.js';
import { Meter, MeterLegend } from '../../parts/meter.js';
import { Facts } from '../../parts/stat.js';
import { Ago, Lasted } from '../../parts/when.js';
import { chainText, pathTimeText, stateCounts } from '../../rules/batch-tasks.js';
import { shownText } from '../../rules/written-json.js';

/** How far a batch is, and what determines how long it takes. */
export function BatchProgress({ details }: { readonly details: ResponseOf<'getBatch'> }): ReactNode {
  const { batch, counts, criticalPath, eta } = details;
  const parts = stateCounts(counts);
  return (
    <Card>
      <div className="stack batch-progress">
        <div className="batch-meter">
          <Meter size="thick" label="Tasks" parts={parts} total={batch.taskCount} />
          <MeterLegend parts={parts} />
        </div>
        <div className="batch-facts">
          <Facts
            facts={[
              ['Started', <Ago key="started" at={batch.createdAt} />],
              [
                batch.endedAt ? 'Took' : 'Runs for',
                <Lasted key="lasted" from={batch.createdAt} to={batch.endedAt} />,
              ],
              batch.status === 'RUNNING' && ['Ends', <Expected key="eta" at={eta} />],
            ]}
          />
          {criticalPath && (
            <Facts
              facts={[
                [
                  'Critical path',
                  <span key="path">
                    <span className="mono">{shownText(chainText(criticalPath.keys))}</span>
                    <span className="quiet number batch-path-time">{pathTimeText(criticalPath)}</span>
                  </span>,
                ],
              ]}
            />
          )}
        </div>
      </div>
    </Card>
  );
}

/** The estimate knows nothing of workers that are busy elsewhere: it may have passed. */
function Expected({ at }: { readonly at: string | null }): ReactNode {
  const now = useNow();
  return at !== null && Date.parse(at) <= now ? 'Any moment' : <Ago at={at} />;
}
