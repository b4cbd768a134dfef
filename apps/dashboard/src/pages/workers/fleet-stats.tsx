import type { ReactNode } from 'react';
import { Stat, Stats } from '../../parts/stat.js';
import { countText, NOTHING, shortCount } from '../../rules/amounts.js';
import type { FleetSum } from '../../rules/fleet.js';
import { hrefOf } from '../../rules/hrefs.js';
import { shownText } from '../../rules/written-json.js';

/** What all instances have and do together. */
export function FleetStats({ sum }: { readonly sum: FleetSum | undefined }): ReactNode {
  const idle = sum && Math.max(0, sum.workers - sum.busyWorkers);
  return (
    <Stats label="All instances together">
      <Stat label="Instances" value={shortCount(sum?.instances)} note="alive" />
      <Stat
        label="Workers busy"
        value={shortCount(sum?.busyWorkers)}
        unit={sum && `of ${shortCount(sum.workers)}`}
        note={sum && `${shortCount(idle)} idle`}
        tone={sum?.workers === 0 ? 'fail' : undefined}
        href={hrefOf('groups')}
      />
      <Stat
        label="Tasks of batches"
        value={shortCount(sum?.tasks)}
        unit={sum && `of ${shortCount(sum.taskRoom)}`}
        note="run at once"
        href={hrefOf('batches')}
      />
      <Stat label="Requests" value={shortCount(sum?.requests)} note="being answered" />
      <Stat label="Streams" value={shortCount(sum?.streams)} note="of events, open" />
      <Stat
        label="Version"
        value={
          sum && sum.versions.length > 1
            ? countText(sum.versions.length)
            : shownText(sum?.versions[0] ?? NOTHING)
        }
        note={sum && sum.versions.length > 1 ? shownText(sum.versions.join(', ')) : 'of all instances'}
        tone={sum && sum.versions.length > 1 ? 'hold' : undefined}
      />
    </Stats>
  );
}
