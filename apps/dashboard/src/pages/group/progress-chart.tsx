import type { GroupBody } from '@millrace/contract';
import { type ReactNode, useMemo } from 'react';
import { useAsk } from '../../data/ask.js';
import { Card } from '../../parts/card.js';
import { ProblemNote } from '../../parts/said.js';
import { type Series, TimeChart } from '../../parts/time-chart.js';
import { shortCount } from '../../rules/amounts.js';
import { progressLines } from '../../rules/progress-lines.js';

/** The last point is now: so often it is another. */
const POINT_EVERY_MS = 5_000;

/** How a group came along, from its start until now. */
export function GroupHistory({ group: { id } }: { readonly group: GroupBody }): ReactNode {
  const { data, error } = useAsk(
    'getGroupProgress',
    { params: { groupId: id } },
    { everyMs: POINT_EVERY_MS, keepsShown: false },
  );
  const { times, ...lines } = useMemo(() => progressLines(data?.points ?? []), [data]);
  const series = useMemo<readonly Series[]>(
    () => [
      { label: 'done', tone: 'ok', isFilled: true, values: lines.success },
      { label: 'failed', tone: 'fail', values: lines.failed },
      { label: 'in flight', tone: 'run', values: lines.inFlight },
      { label: 'registered', tone: 'wait', style: 'dashed', values: lines.registered },
    ],
    [lines.success, lines.failed, lines.inFlight, lines.registered],
  );
  return (
    <Card title="Progress over time">
      {error && !data ? (
        <ProblemNote error={error} />
      ) : (
        <TimeChart
          label="Jobs done, failed, in flight and registered over time"
          times={times}
          series={series}
          text={shortCount}
          atLeast={4}
          height={200}
        />
      )}
    </Card>
  );
}
