import type { ReactNode } from 'react';
import { useLive } from '../../data/live.js';
import { RANGES, useStats } from '../../data/stats.js';
import { Stat, Stats } from '../../parts/stat.js';
import { rateText, shortCount } from '../../rules/amounts.js';
import { hrefOf } from '../../rules/hrefs.js';
import { shortDuration } from '../../rules/times.js';

/** How everything stands this second. */
export function NowStats(): ReactNode {
  const { snapshot } = useLive();
  const { data } = useStats(RANGES[0]);
  const last = data?.points.findLast((point) => point !== null);
  const queues = snapshot?.queues;
  const busy = queues ? queues.liveSlots - queues.waitingSlots : null;
  const waiting = queues ? queues.lane + queues.ready + queues.nonReady : null;
  return (
    <Stats label="How everything stands">
      <Stat
        label="Done"
        value={rateText(last?.jobs.donePerSecond)}
        unit="/s"
        note={last ? `${rateText(last.jobs.failedPerSecond)} failed /s` : undefined}
      />
      <Stat
        label="Waiting"
        value={shortCount(waiting)}
        note={queues ? `${shortCount(queues.nonReady)} for a time` : undefined}
        href={hrefOf('groups')}
      />
      <Stat
        label="Oldest waiting"
        value={shortDuration(queues?.oldestWaitingMs ?? null)}
        note="first in line"
      />
      <Stat
        label="Workers busy"
        value={shortCount(busy)}
        unit={queues ? `of ${shortCount(queues.liveSlots)}` : undefined}
        note={queues ? `${shortCount(queues.waitingSlots)} idle` : undefined}
        tone={queues?.liveSlots === 0 ? 'fail' : undefined}
        href={hrefOf('workers')}
      />
      <Stat
        label="Tenants"
        value={shortCount(queues?.tenants ?? null)}
        note="known here"
        href={hrefOf('groups')}
      />
      <Stat
        label="Dead letters"
        value={shortCount(queues?.deadLetters ?? null)}
        note="failed for good"
        tone={queues && queues.deadLetters > 0 ? 'fail' : undefined}
        href={hrefOf('deadLetters')}
      />
      <Stat
        label="Batch tasks"
        value={shortCount(snapshot?.backlog ? snapshot.backlog.ready + snapshot.backlog.processing : null)}
        note={snapshot?.backlog ? `${shortCount(snapshot.backlog.processing)} running` : undefined}
        href={hrefOf('batches')}
      />
      <Stat
        label="Operations"
        value={shortCount(snapshot?.openOperations ?? null)}
        note={last ? `${rateText(last.operations.endedPerSecond)} end /s` : undefined}
        href={hrefOf('operations')}
      />
    </Stats>
  );
}
