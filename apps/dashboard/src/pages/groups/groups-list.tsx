import type { GroupBody } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useGroupDialogs } from '../../actions/group-actions.js';
import { useAsk } from '../../data/ask.js';
import { useCursorPages } from '../../data/cursor-pages.js';
import { useFilters } from '../../data/filters.js';
import { type Seen, TOLD_MAX } from '../../data/seen-tenants.js';
import { useSession } from '../../data/session.js';
import { Card } from '../../parts/card.js';
import { Pager } from '../../parts/pager.js';
import { Empty, ProblemNote } from '../../parts/said.js';
import { Table } from '../../parts/table.js';
import { counted } from '../../rules/amounts.js';
import { problemCode } from '../../rules/problems.js';
import { isShort } from '../../rules/seen-tenants.js';
import { groupColumns } from './group-columns.js';
import { GROUP_STATES, GroupsFilters } from './groups-filters.js';
import { useHeldRows } from './held.js';

const PAGE_GROUPS = 50;

/** The groups, newest first: how far each is, what it gets, and what holds it back. */
export function GroupsList({ seen }: { readonly seen: Seen }): ReactNode {
  const { may } = useSession();
  const filters = useFilters('status', 'tenantId', 'id');
  const { status, tenantId, id } = filters.values;
  const pages = useCursorPages([status, tenantId, id].join('\n'));
  const list = useGroupRows({ status, tenantId, id, cursor: pages.cursor });
  const held = useHeldRows(list.rows, [status, tenantId, id, pages.cursor].join('\n'), list.isEarlier);
  const shares = useAsk('getFairness', { query: { limit: TOLD_MAX, ...(tenantId !== '' && { tenantId }) } });
  const { decide, dialog } = useGroupDialogs();
  const columns = groupColumns({
    shares: new Map(shares.data?.groups.map((group) => [group.groupId, group])),
    short: new Set(seen.tenants.filter(isShort).map((tenant) => tenant.id)),
    decide: may('operate') ? decide : undefined,
  });
  return (
    <Card title="Groups" note="Newest first" aside={<Newer count={held.newer} />} isFlush>
      <GroupsFilters filters={filters} tenants={seen.tenants.map((tenant) => tenant.id)} />
      {list.error ? (
        <div className="groups-said">
          <ProblemNote error={list.error} />
        </div>
      ) : (
        <div {...held.around}>
          <Table
            label="Groups"
            columns={columns}
            rows={held.rows}
            rowKey={(group) => group.id}
            awaited={12}
            empty={
              <NoGroups
                isFiltered={status !== '' || tenantId !== ''}
                id={id}
                hasOlder={Boolean(list.cursor)}
              />
            }
          />
        </div>
      )}
      <div className="groups-foot">
        <Pager pages={pages} nextCursor={list.cursor} label="groups" />
      </div>
      {dialog}
    </Card>
  );
}

interface GroupsAsked {
  readonly status: string;
  readonly tenantId: string;
  readonly id: string;
  readonly cursor: string | undefined;
}

interface GroupRows {
  readonly rows: readonly GroupBody[] | undefined;
  readonly cursor: string | null | undefined;
  readonly error: Error | undefined;
  /** Whether the rows are those of the question before; this one's are on their way. */
  readonly isEarlier: boolean;
}

/** A page of the list, or the one group of an id. */
function useGroupRows({ status, tenantId, id, cursor }: GroupsAsked): GroupRows {
  const state = GROUP_STATES.find((one) => one === status);
  const page = useAsk(
    'listGroups',
    {
      query: {
        limit: PAGE_GROUPS,
        ...(state && { status: state }),
        ...(tenantId !== '' && { tenantId }),
        ...(cursor !== undefined && { cursor }),
      },
    },
    { when: id === '' },
  );
  const one = useAsk('getGroup', { params: { groupId: id } }, { when: id !== '', keepsShown: false });
  if (id === '')
    return {
      rows: page.data?.items,
      cursor: page.data?.cursor,
      error: page.data ? undefined : (page.error ?? undefined),
      isEarlier: page.isPlaceholderData,
    };
  const isNone = problemCode(one.error) === 'GROUP_NOT_FOUND';
  return {
    rows: isNone ? [] : one.data && [one.data],
    cursor: null,
    error: isNone || one.data ? undefined : (one.error ?? undefined),
    isEarlier: false,
  };
}

/** Said while the list stands still because somebody points at it. */
function Newer({ count }: { readonly count: number }): ReactNode {
  if (count === 0) return null;
  return (
    <span className="quiet small number">{counted(count, 'newer group')}, shown when you look elsewhere</span>
  );
}

interface NoGroupsProps {
  readonly isFiltered: boolean;
  readonly id: string;
  /** The server has looked through so many of the newest, and there are older ones. */
  readonly hasOlder: boolean;
}

function NoGroups({ isFiltered, id, hasOlder }: NoGroupsProps): ReactNode {
  if (id !== '')
    return (
      <Empty title="There is no group of this id">
        Ids are looked up whole, with the tenant before the slash.
      </Empty>
    );
  if (hasOlder)
    return <Empty title="None of the newest groups is like this">Look among the older ones, below.</Empty>;
  return isFiltered ? (
    <Empty title="No group is like this">Choose another state or tenant.</Empty>
  ) : (
    <Empty title="There are no groups yet">The overview says how to submit the first.</Empty>
  );
}
