import type { GroupBody } from '@millrace/contract';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { useAsk } from '../../data/ask.js';
import { useSession } from '../../data/session.js';
import { Card } from '../../parts/card.js';
import { Facts } from '../../parts/stat.js';
import { Status } from '../../parts/status.js';
import { countText, NOTHING, rateText } from '../../rules/amounts.js';
import { hasEnded } from '../../rules/group-progress.js';
import { hrefOf } from '../../rules/hrefs.js';
import { weightText } from '../../rules/limits.js';
import { durationText } from '../../rules/times.js';

/** What a group may, and what holds it back. */
export function GroupLimits({ group }: { readonly group: GroupBody }): ReactNode {
  const { seesAll } = useSession();
  return (
    <Card
      title="Limits and what holds it back"
      aside={seesAll && <Link href={hrefOf('congestion')}>Called services</Link>}
    >
      <div className="stack">
        <Facts
          facts={[
            ['Weight', weightText(group.weight)],
            ['Priority', group.priorityLevel],
            ['Starts per second', group.rps === null ? 'no limit' : weightText(group.rps)],
            ['Burst', group.burst === null ? NOTHING : countText(group.burst)],
            ['At once', group.concurrency === null ? 'no limit' : countText(group.concurrency)],
            ['Fails without progress for', durationText(group.timeoutMs)],
          ]}
        />
        <Brakes group={group} />
      </div>
    </Card>
  );
}

function Brakes({ group }: { readonly group: GroupBody }): ReactNode {
  const { seesAll } = useSession();
  const { level, nonReadyCount, lastBackoffMs } = group.progress.congestion;
  const { data } = useAsk(
    'getCongestion',
    { query: { groupId: group.id, history: 'false' } },
    { when: seesAll && !hasEnded(group), keepsShown: false },
  );
  const slow = (!hasEnded(group) && data?.group) || undefined;
  return (
    <div className="group-brakes">
      <Facts
        facts={[
          ['Congestion', <Status key="level" status={level} />],
          ['Refused by the called service', countText(group.throttled)],
          ['Refused by a rate limit', countText(group.rateDenied)],
          ['Waiting for a time', countText(nonReadyCount)],
          ['Last back-off', lastBackoffMs > 0 ? durationText(lastBackoffMs) : 'none'],
          slow && ['Calls per second', rateText(slow.rate)],
          slow && ['Held to, by refusals', slow.limit === null ? 'no limit' : `${rateText(slow.limit)}/s`],
          slow && slow.frozenForMs > 0 && ['Not called for', durationText(slow.frozenForMs)],
        ]}
      />
    </div>
  );
}
