import type { AuditEntry } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useAsk } from '../../data/ask.js';
import { useCursorPages } from '../../data/cursor-pages.js';
import { Card } from '../../parts/card.js';
import { Pager } from '../../parts/pager.js';
import { Empty, ProblemNote } from '../../parts/said.js';
import { Tag } from '../../parts/status.js';
import { type Column, Table } from '../../parts/table.js';
import { Ago } from '../../parts/when.js';
import { shownText } from '../../rules/written-json.js';

const SHOWN = 10;
const LOOK_EVERY_MS = 15_000;

const COLUMNS: readonly Column<AuditEntry>[] = [
  { key: 'at', title: 'When', width: '90px', cell: ({ at }) => <Ago at={at} /> },
  {
    key: 'key',
    title: 'Who',
    width: 'minmax(80px, 1fr)',
    cell: ({ key, role }) => <span title={role}>{shownText(key)}</span>,
  },
  {
    key: 'route',
    title: 'What',
    width: 'minmax(130px, 1.2fr)',
    cell: ({ route }) => <span className="mono small">{shownText(route)}</span>,
  },
  {
    key: 'path',
    title: 'Of',
    width: 'minmax(140px, 2fr)',
    isExtra: true,
    cell: ({ path }) => <Text text={path} />,
  },
  {
    key: 'body',
    title: 'With',
    width: 'minmax(140px, 2fr)',
    isExtra: true,
    cell: ({ body }) => body !== null && <Text text={body} />,
  },
  {
    key: 'status',
    title: 'Answer',
    width: '76px',
    cell: ({ status }) => <Tag tone={answerTone(status)}>{status ?? 'not known'}</Tag>,
  },
];

/** Who changed what, newest first. */
export function AuditLog(): ReactNode {
  const pages = useCursorPages('audit');
  const query = { limit: SHOWN, ...(pages.cursor !== undefined && { cursor: pages.cursor }) };
  const { data, error } = useAsk('listAudit', { query }, { everyMs: LOOK_EVERY_MS });
  return (
    <Card
      title="Who changed what"
      note="Changes of work and settings over HTTP, kept for 90 days"
      isFlush
      aside={<Pager pages={pages} nextCursor={data?.cursor} label="changes" />}
    >
      {error && !data ? (
        <ProblemNote error={error} />
      ) : (
        <Table
          label="Changes"
          columns={COLUMNS}
          rows={data?.items}
          rowKey={({ id }) => id}
          awaited={SHOWN}
          empty={<Empty title="Nobody has changed anything yet" />}
        />
      )}
    </Card>
  );
}

const answerTone = (status: number | null) =>
  status === null ? 'hold' : status < 400 ? 'ok' : status < 500 ? 'wait' : 'fail';

function Text({ text }: { readonly text: string }): ReactNode {
  const shown = shownText(text);
  return (
    <span className="mono small" title={shown}>
      {shown}
    </span>
  );
}
