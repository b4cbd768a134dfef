import type { OperationBody } from '@millrace/contract';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { useAsk } from '../../data/ask.js';
import { useCursorPages } from '../../data/cursor-pages.js';
import { useFilters } from '../../data/filters.js';
import { useSession } from '../../data/session.js';
import { Card } from '../../parts/card.js';
import { Pager } from '../../parts/pager.js';
import { Empty, ProblemNote } from '../../parts/said.js';
import { Status } from '../../parts/status.js';
import { type Column, Table } from '../../parts/table.js';
import { Ago, Lasted } from '../../parts/when.js';
import { NOTHING } from '../../rules/amounts.js';
import { hrefOf } from '../../rules/hrefs.js';
import { outcomeText, shownState } from '../../rules/operation-steps.js';
import { shownText } from '../../rules/written-json.js';
import { FILTERS, listQueryOf } from './list-query.js';
import { OperationFilters } from './operation-filters.js';

const PAGE_SIZE = 50;
/** The end of an id of this kind is its random part: the beginning is nearly the same for all of one minute. */
const ID_SHOWN = 8;

const COLUMNS: readonly Column<OperationBody>[] = [
  {
    key: 'id',
    title: 'Operation',
    width: '84px',
    cell: ({ opId }) => (
      <Link className="mono" href={hrefOf('operation', { opId })} title={opId}>
        …{opId.slice(-ID_SHOWN)}
      </Link>
    ),
  },
  {
    key: 'route',
    title: 'Command',
    width: 'minmax(90px, 1.2fr)',
    cell: ({ domain, eventType }) => <span title={`${domain}.${eventType}`}>{`${domain}.${eventType}`}</span>,
  },
  {
    key: 'bizKey',
    title: 'Business key',
    width: 'minmax(140px, 1.5fr)',
    isExtra: true,
    cell: ({ bizKey }) => <span title={shownText(bizKey)}>{shownText(bizKey)}</span>,
  },
  {
    key: 'tenant',
    title: 'Tenant',
    width: 'minmax(90px, 1fr)',
    isExtra: true,
    cell: ({ tenant }) => (
      <span title={shownText(tenant)}>{tenant === '' ? NOTHING : shownText(tenant)}</span>
    ),
  },
  {
    key: 'state',
    title: 'State',
    width: '112px',
    cell: (operation) => <Status status={shownState(operation)} />,
  },
  {
    key: 'outcome',
    title: 'Outcome',
    width: 'minmax(120px, 1.8fr)',
    isExtra: true,
    cell: ({ outcome }) => <OutcomeCell outcome={outcome} />,
  },
  {
    key: 'tries',
    title: 'Tries',
    width: '52px',
    isNumber: true,
    isExtra: true,
    cell: ({ attempts, attemptsMax }) => `${attempts}/${attemptsMax}`,
  },
  {
    key: 'accepted',
    title: 'Accepted',
    width: '84px',
    isNumber: true,
    isExtra: true,
    cell: ({ acceptedAt }) => <Ago at={acceptedAt} />,
  },
  {
    key: 'lasted',
    title: 'Lasted',
    width: '78px',
    isNumber: true,
    isExtra: true,
    cell: ({ acceptedAt, endedAt }) => <Lasted from={acceptedAt} to={endedAt} />,
  },
];

function OutcomeCell({ outcome }: Pick<OperationBody, 'outcome'>): ReactNode {
  if (!outcome) return <span className="quiet">{NOTHING}</span>;
  const text = shownText(outcomeText(outcome));
  return (
    <span className={outcome.type === 'Fail' ? undefined : 'quiet'} title={text}>
      {text}
    </span>
  );
}

/** All operations, newest first, filtered by the address. */
export function OperationsList(): ReactNode {
  const { seesAll } = useSession();
  const filters = useFilters(...FILTERS);
  const pages = useCursorPages(JSON.stringify(filters.values));
  const { data, error } = useAsk('listOperations', {
    query: { ...listQueryOf(filters.values), limit: PAGE_SIZE, cursor: pages.cursor },
  });
  const isFiltered = FILTERS.some((name) => filters.values[name] !== '');
  const columns = seesAll ? COLUMNS : COLUMNS.filter(({ key }) => key !== 'tenant');
  return (
    <Card title="Operations" note="Newest first" isFlush>
      <OperationFilters filters={filters} />
      {error && !data ? (
        <div className="operations-problem">
          <ProblemNote error={error} />
        </div>
      ) : (
        <Table
          label="Operations"
          columns={columns}
          rows={data?.items}
          rowKey={({ opId }) => opId}
          awaited={10}
          empty={<NoOperations isFiltered={isFiltered} />}
        />
      )}
      <div className="operations-pages">
        <Pager pages={pages} nextCursor={data?.cursor} label="operations" />
      </div>
    </Card>
  );
}

function NoOperations({ isFiltered }: { readonly isFiltered: boolean }): ReactNode {
  if (isFiltered)
    return <Empty title="No operation is like this">Texts are compared as a whole, letter by letter.</Empty>;
  return (
    <Empty title="Nothing has been asked for yet">
      <code>POST /api/operations</code> submits a command of one of the application’s routes.
    </Empty>
  );
}
