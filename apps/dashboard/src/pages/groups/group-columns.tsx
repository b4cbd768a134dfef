import type { GroupBody } from '@millrace/contract';
import type { ResponseOf } from '@millrace/contract/server-client';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { type DecideGroup, GroupButtons } from '../../actions/group-actions.js';
import { Meter } from '../../parts/meter.js';
import { Status } from '../../parts/status.js';
import type { Column } from '../../parts/table.js';
import { Ago } from '../../parts/when.js';
import { NOTHING, percentText, shortCount } from '../../rules/amounts.js';
import { hasEnded, progressParts, shownStatus } from '../../rules/group-progress.js';
import { hrefOf } from '../../rules/hrefs.js';
import { limitTexts } from '../../rules/limits.js';
import { scaleOf } from '../../rules/seen-tenants.js';
import { longestShare } from '../../rules/shares.js';
import { durationText } from '../../rules/times.js';
import { shownText } from '../../rules/written-json.js';
import { Limits, ShareCell, Two } from './cells.js';

type GroupShare = ResponseOf<'getFairness'>['groups'][number];

/** What the rows need beside the groups themselves. */
export interface GroupColumnsNeed {
  /** By id; of those that have not ended. */
  readonly shares: ReadonlyMap<string, GroupShare>;
  /** Tenants that get less than what is theirs. */
  readonly short: ReadonlySet<string>;
  /** undefined: whoever looks may only look. */
  readonly decide: DecideGroup | undefined;
}

/** What is shown of every group. */
export function groupColumns({ shares, short, decide }: GroupColumnsNeed): readonly Column<GroupBody>[] {
  const longest = scaleOf(longestShare([...shares.values()]));
  return [
    { key: 'id', title: 'Group', width: 'minmax(112px, 2fr)', cell: (group) => <Named group={group} /> },
    { key: 'status', title: 'Status', width: '102px', cell: (group) => <State group={group} /> },
    {
      key: 'progress',
      title: 'Progress',
      width: 'minmax(100px, 1.1fr)',
      cell: (group) => <Progress group={group} />,
    },
    {
      key: 'share',
      title: 'Share',
      width: 'minmax(100px, 1.1fr)',
      isExtra: true,
      cell: (group) => (
        <Share
          group={group}
          share={shares.get(group.id)}
          longest={longest}
          isShort={short.has(group.tenantId)}
        />
      ),
    },
    {
      key: 'backlog',
      title: 'Waiting',
      width: '68px',
      isNumber: true,
      isExtra: true,
      cell: (group) => <Backlog group={group} />,
    },
    {
      key: 'rate',
      title: 'Rate limit',
      width: '84px',
      isExtra: true,
      cell: (group) => <Rate group={group} />,
    },
    {
      key: 'congestion',
      title: 'Congestion',
      width: '84px',
      isExtra: true,
      cell: (group) => <Congestion group={group} />,
    },
    {
      key: 'eta',
      title: 'ETA',
      width: '70px',
      isNumber: true,
      isExtra: true,
      cell: (group) => <Eta group={group} />,
    },
    ...(decide ? [actionsColumn(decide)] : []),
  ];
}

interface OfGroup {
  readonly group: GroupBody;
}

const actionsColumn = (decide: DecideGroup): Column<GroupBody> => ({
  key: 'actions',
  title: <span className="unseen">Actions</span>,
  width: '100px',
  cell: (group) => (
    <div className="groups-actions">
      <GroupButtons group={group} decide={decide} isCompact />
    </div>
  ),
});

/** The tenant stands below it: there is room for the part that differs. */
const idInTenant = ({ id, tenant }: GroupBody): string =>
  tenant !== '' && id.startsWith(`${tenant}/`) ? id.slice(tenant.length + 1) : id;

function Named({ group }: OfGroup): ReactNode {
  return (
    <Two
      first={
        <Link
          className="mono small"
          href={hrefOf('group', { groupId: group.id })}
          title={shownText(group.id)}
        >
          {shownText(idInTenant(group))}
        </Link>
      }
      second={shownText(group.tenantId)}
    />
  );
}

function State({ group }: OfGroup): ReactNode {
  const takesMore = !group.sealed && !hasEnded(group);
  const status = <Status status={shownStatus(group)} />;
  return takesMore ? <Two first={status} second="takes more jobs" /> : status;
}

function Progress({ group: { id, progress } }: OfGroup): ReactNode {
  return (
    <div className="groups-progress">
      <Meter
        label={`Progress of ${shownText(id)}`}
        parts={progressParts(progress)}
        total={progress.registered}
      />
      <span className="small number">
        {percentText(progress.progressPercent / 100)}
        <span className="quiet"> of {shortCount(progress.registered)}</span>
      </span>
    </div>
  );
}

interface ShareOfGroup extends OfGroup {
  readonly share: GroupShare | undefined;
  readonly longest: number;
  readonly isShort: boolean;
}

function Share({ group, share, longest, isShort }: ShareOfGroup): ReactNode {
  if (!share || hasEnded(group)) return <span className="quiet">{NOTHING}</span>;
  return (
    <ShareCell
      isStacked
      name={shownText(group.id)}
      share={share.share}
      fairShare={share.fairShare}
      longest={longest}
      tone={isShort && share.pending > 0 ? 'hold' : 'run'}
    />
  );
}

function Backlog({ group }: OfGroup): ReactNode {
  const { pending, inFlight } = group.progress;
  if (hasEnded(group)) return <span className="quiet">{NOTHING}</span>;
  return <Two first={shortCount(pending)} second={`${shortCount(inFlight)} in flight`} />;
}

function Rate({ group }: OfGroup): ReactNode {
  const denied = group.rateDenied > 0 ? [`${shortCount(group.rateDenied)} denied`] : [];
  return <Limits texts={[...limitTexts(group), ...denied]} />;
}

function Congestion({ group: { progress, throttled } }: OfGroup): ReactNode {
  const { level, lastBackoffMs } = progress.congestion;
  if (level === 'NONE')
    return (
      <span className="small quiet number">
        {throttled > 0 ? `none, ${shortCount(throttled)} refused` : 'none'}
      </span>
    );
  return <Two first={<Status status={level} />} second={`back-off ${durationText(lastBackoffMs)}`} />;
}

function Eta({ group }: OfGroup): ReactNode {
  if (group.endedAt !== null && hasEnded(group))
    return (
      <span className="small quiet">
        <Ago at={group.endedAt} />
      </span>
    );
  return <span className="small">{durationText(group.paused ? null : group.progress.etaMs)}</span>;
}
