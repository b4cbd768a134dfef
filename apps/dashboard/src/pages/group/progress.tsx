import type { GroupBody } from '@millrace/contract';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { Card } from '../../parts/card.js';
import { Meter, MeterLegend } from '../../parts/meter.js';
import { Facts } from '../../parts/stat.js';
import { Ago, Lasted } from '../../parts/when.js';
import { counted, countText, percentText, rateText } from '../../rules/amounts.js';
import { hasEnded, progressParts } from '../../rules/group-progress.js';
import { hrefOf } from '../../rules/hrefs.js';
import { durationText } from '../../rules/times.js';

/** How far a group is, and since when. */
export function GroupProgress({ group }: { readonly group: GroupBody }): ReactNode {
  const { progress, sealed } = group;
  const parts = progressParts(progress);
  const isOver = hasEnded(group);
  const soFar = sealed ? '' : ' so far';
  return (
    <Card title="Progress" aside={<Link href={hrefOf('jobs', { groupId: group.id })}>All jobs</Link>}>
      <div className="stack">
        <div className="group-far">
          <span className="group-percent number">{percentText(progress.progressPercent / 100)}</span>
          <span className="quiet">
            {countText(progress.done)} of {counted(progress.registered, 'job')}
            {soFar}
          </span>
        </div>
        <Meter label="Jobs of the group" parts={parts} total={progress.registered} size="thick" />
        <MeterLegend parts={parts} />
        <Facts
          facts={[
            !isOver && [
              'Done in about',
              progress.etaMs === null ? 'not known' : durationText(progress.etaMs),
            ],
            !isOver && ['Speed', `${rateText(group.settledPerSecond)} jobs/s`],
            ['Started', <Ago key="started" at={group.startedAt} />],
            ['Ended', isOver ? <Ago key="ended" at={group.endedAt} /> : 'not yet'],
            [isOver ? 'Lasted' : 'Lasts', <Lasted key="lasted" from={group.startedAt} to={group.endedAt} />],
            ['Deadline', group.deadline ? <Ago key="deadline" at={group.deadline} /> : 'none'],
            ['Round', countText(group.round)],
            ['Registration', sealed ? 'sealed' : 'open for more jobs'],
          ]}
        />
      </div>
    </Card>
  );
}
