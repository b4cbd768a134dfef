import { useVirtualizer } from '@tanstack/react-virtual';
import { type CSSProperties, type ReactNode, useRef } from 'react';
import './table.css';

/** One column. */
export interface Column<Row> {
  readonly key: string;
  readonly title: ReactNode;
  readonly cell: (row: Row) => ReactNode;
  /** Numbers stand at the right, digit below digit. */
  readonly isNumber?: boolean;
  /** As grid-template-columns has it: `minmax(160px, 2fr)`, `90px`. */
  readonly width: string;
  /** Left out where there is little room. */
  readonly isExtra?: boolean;
}

/** A list of things of one kind. */
export interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  /** undefined: they are on their way. */
  readonly rows: readonly Row[] | undefined;
  readonly rowKey: (row: Row) => string;
  /** What is shown when there is none. */
  readonly empty: ReactNode;
  /** So many rows have room while they are on their way: what is below does not jump. */
  readonly awaited?: number;
}

/** All rows have one height: so long lists can be drawn in part. */
const ROW_HEIGHT = 44;
/** More of them are drawn only where somebody looks. */
const DRAWN_WHOLE = 100;
const WINDOW_HEIGHT = ROW_HEIGHT * 14;

/** A table; a long one scrolls in itself and draws only what is seen. */
export function Table<Row>({ label, columns, rows, rowKey, empty, awaited = 5 }: TableProps<Row>): ReactNode {
  const template = columns.map(({ width }) => width).join(' ');
  const compact = columns
    .filter(({ isExtra }) => !isExtra)
    .map(({ width }) => width)
    .join(' ');
  const style = { '--columns': template, '--columns-compact': compact } as CSSProperties;
  if (rows?.length === 0) return <div className="table-empty">{empty}</div>;
  return (
    // A region that scrolls sideways must be reachable by keys.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls.
    <section className="table-frame" style={style} aria-label={label} tabIndex={0}>
      <div
        className="table"
        role="table"
        aria-label={label}
        aria-rowcount={rows ? rows.length + 1 : -1}
        aria-busy={!rows}
      >
        <Head columns={columns} />
        {rows === undefined ? (
          <Awaited columns={columns} count={awaited} />
        ) : rows.length > DRAWN_WHOLE ? (
          <Window columns={columns} rows={rows} rowKey={rowKey} />
        ) : (
          <div role="rowgroup">
            {rows.map((row, index) => (
              <Cells key={rowKey(row)} columns={columns} row={row} index={index} />
            ))}
          </div>
        )}
      </div>
    </section>
  );
}

const classOf = ({ isNumber, isExtra }: Pick<Column<never>, 'isNumber' | 'isExtra'>): string =>
  `cell${isNumber ? ' number' : ''}${isExtra ? ' extra' : ''}`;

function Head<Row>({ columns }: { readonly columns: readonly Column<Row>[] }): ReactNode {
  return (
    <div role="rowgroup">
      <div className="table-row head" role="row" aria-rowindex={1}>
        {columns.map((column) => (
          <div key={column.key} className={classOf(column)} role="columnheader">
            {column.title}
          </div>
        ))}
      </div>
    </div>
  );
}

interface CellsProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly row: Row;
  readonly index: number;
  readonly style?: CSSProperties;
}

function Cells<Row>({ columns, row, index, style }: CellsProps<Row>): ReactNode {
  return (
    <div className="table-row" role="row" aria-rowindex={index + 2} style={style}>
      {columns.map((column) => (
        <div key={column.key} className={classOf(column)} role="cell">
          {column.cell(row)}
        </div>
      ))}
    </div>
  );
}

function Window<Row>({
  columns,
  rows,
  rowKey,
}: Pick<TableProps<Row>, 'columns' | 'rowKey'> & { readonly rows: readonly Row[] }): ReactNode {
  const frame = useRef<HTMLDivElement>(null);
  const drawn = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 8,
  });
  return (
    <div ref={frame} className="table-window" style={{ height: WINDOW_HEIGHT }} role="presentation">
      <div role="rowgroup" style={{ height: drawn.getTotalSize(), position: 'relative' }}>
        {drawn.getVirtualItems().map(({ index, start }) => {
          const row = rows[index] as Row;
          const style: CSSProperties = {
            position: 'absolute',
            insetInline: 0,
            top: 0,
            transform: `translateY(${start}px)`,
          };
          return <Cells key={rowKey(row)} columns={columns} row={row} index={index} style={style} />;
        })}
      </div>
    </div>
  );
}

function Awaited<Row>({
  columns,
  count,
}: {
  readonly columns: readonly Column<Row>[];
  readonly count: number;
}): ReactNode {
  return (
    <div role="rowgroup" className="table-awaited">
      {Array.from({ length: count }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike.
        <div key={index} className="table-row" role="row">
          {columns.map((column) => (
            <div key={column.key} className={classOf(column)} role="cell">
              <span className="awaited" />
            </div>
          ))}
        </div>
      ))}
    </div>
  );
}
