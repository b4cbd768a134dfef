import type { GroupBody } from '@millrace/contract';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { GroupActions } from '../../actions/group-actions.js';
import { useAsk } from '../../data/ask.js';
import { Copyable } from '../../parts/copyable.js';
import { PageHead } from '../../parts/page-head.js';
import { ProblemNote } from '../../parts/said.js';
import { Status } from '../../parts/status.js';
import { endedRounds, hasEnded, shownStatus } from '../../rules/group-progress.js';
import { hrefOf, type ViewProps } from '../../rules/hrefs.js';
import { shownText } from '../../rules/written-json.js';
import { GroupFailures } from './failures.js';
import './group.css';
import { GroupLimits } from './limits.js';
import { GroupProgress } from './progress.js';
import { GroupHistory } from './progress-chart.js';
import { GroupResult } from './result.js';
import { GroupWaits } from './waits.js';

/** One group: how far it is, what holds it back, what failed, and what came of it. */
export function Group({ params: { groupId = '' } }: ViewProps): ReactNode {
  const { data: group, error } = useAsk('getGroup', { params: { groupId } }, { keepsShown: false });
  return (
    <>
      <PageHead
        title={shownText(groupId)}
        mark={
          <>
            <Copyable text={groupId} label="the id" isBare />
            {group && <Status status={shownStatus(group)} />}
          </>
        }
        note={group && <Whose group={group} />}
        above={[['Groups', hrefOf('groups')]]}
      >
        {group && <GroupActions group={group} />}
      </PageHead>
      {error && !group && <ProblemNote error={error} />}
      {group && <Parts key={groupId} group={group} />}
    </>
  );
}

function Whose({ group: { tenantId } }: { readonly group: GroupBody }): ReactNode {
  return (
    <>
      Tenant <Link href={hrefOf('groups', undefined, { tenantId })}>{shownText(tenantId)}</Link>
    </>
  );
}

function Parts({ group }: { readonly group: GroupBody }): ReactNode {
  const rounds = endedRounds(group);
  const isOver = hasEnded(group);
  return (
    <>
      <GroupProgress group={group} />
      {rounds.length > 0 && <GroupResult group={group} rounds={rounds} />}
      <div className="grid-2 group-pair">
        <GroupHistory group={group} />
        {isOver ? <GroupFailures group={group} /> : <GroupWaits group={group} />}
      </div>
      <div className={isOver ? 'stack' : 'grid-2'}>
        <GroupLimits group={group} />
        {!isOver && <GroupFailures group={group} />}
      </div>
    </>
  );
}
