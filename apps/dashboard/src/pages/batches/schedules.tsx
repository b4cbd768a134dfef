import type { ResponseOf } from '@millrace/contract/server-client';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { useAsk } from '../../data/ask.js';
import { Card } from '../../parts/card.js';
import { Tag } from '../../parts/status.js';
import { type Column, Table } from '../../parts/table.js';
import { Ago } from '../../parts/when.js';
import { counted } from '../../rules/amounts.js';
import { hrefOf } from '../../rules/hrefs.js';
import { shownText } from '../../rules/written-json.js';

type ScheduleRow = ResponseOf<'listSchedules'>['items'][number];

/** No change tells of a schedule; the minute is the smallest step of most. */
const LOOK_EVERY_MS = 15_000;

/** Batches that start by the clock; nothing where there are none. */
export function Schedules(): ReactNode {
  const { data } = useAsk('listSchedules', { query: {} }, { everyMs: LOOK_EVERY_MS });
  if (!data || data.items.length === 0) return null;
  return (
    <Card
      isFlush
      title="Schedules"
      note={data.cursor === null ? undefined : `The first ${data.items.length}`}
    >
      <Table
        label="Schedules"
        columns={COLUMNS}
        rows={data.items}
        rowKey={({ tenant, name }) => `${tenant}/${name}`}
        empty={null}
      />
    </Card>
  );
}

const COLUMNS: readonly Column<ScheduleRow>[] = [
  { key: 'name', title: 'Name', width: 'minmax(110px, 1.4fr)', cell: ({ name }) => shownText(name) },
  { key: 'dag', title: 'DAG', width: 'minmax(100px, 1fr)', isExtra: true, cell: ({ dag }) => shownText(dag) },
  {
    key: 'tenant',
    title: 'Tenant',
    width: 'minmax(80px, 1fr)',
    isExtra: true,
    cell: ({ tenant }) => (tenant === '' ? <span className="quiet">nobody’s</span> : shownText(tenant)),
  },
  {
    key: 'cron',
    title: 'When',
    width: 'minmax(110px, 1.2fr)',
    cell: ({ cron, timeZone }) => (
      <>
        <span className="mono">{shownText(cron)}</span>{' '}
        <span className="quiet small">{shownText(timeZone)}</span>
      </>
    ),
  },
  { key: 'next', title: 'Next', width: '100px', isNumber: true, cell: (row) => <Next row={row} /> },
  {
    key: 'last',
    title: 'Last batch',
    width: '90px',
    isNumber: true,
    isExtra: true,
    cell: ({ lastAt, lastBatchId }) =>
      lastBatchId === null ? (
        <Ago at={lastAt} />
      ) : (
        <Link href={hrefOf('batch', { batchId: lastBatchId })}>
          <Ago at={lastAt} />
        </Link>
      ),
  },
];

function Next({ row: { paused, failures, error, nextAt } }: { readonly row: ScheduleRow }): ReactNode {
  if (paused) return <Tag tone="hold">Paused</Tag>;
  if (failures > 0)
    return (
      <span title={error === null ? undefined : shownText(error)}>
        <Tag tone="fail">{counted(failures, 'failure')}</Tag>
      </span>
    );
  return <Ago at={nextAt} />;
}
