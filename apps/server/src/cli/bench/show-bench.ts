import { amount, duration } from '../show/amounts.js';
import type { Column, Printer } from '../show/printer.js';
import type { BenchResult, JobsMeasured, OperationsMeasured } from './bench-model.js';

interface Row {
  readonly what: string;
  readonly value: string;
  readonly of: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { name: 'measured', of: ({ what }) => what },
  { name: '', of: ({ value }) => value, isNumber: true },
  { name: '', of: ({ of }) => of },
];

/** Prints what was measured for a person. */
export function showBench(printer: Printer, { on, clients, jobs, operations }: BenchResult): void {
  const rows = [...(jobs ? jobRows(jobs) : []), ...(operations ? operationRows(operations, clients) : [])];
  printer.table(COLUMNS, rows, 'Nothing was measured: --jobs and --operations are 0.');
  const kind = on.embedded ? 'embedded' : 'not embedded';
  const who = on.ownServer ? `a server of this command's own, ${kind}` : `${on.url}, ${kind}`;
  const pool =
    on.instances === null ? '' : `, instances ${amount(on.instances)}, workers ${amount(on.workers)}`;
  printer.line('');
  printer.line(`Measured on ${who}, version ${on.version}${pool}.`);
}

const rate = (perSecond: number): string => `${amount(Math.round(perSecond))}/s`;

function jobRows({ count, acceptedMs, acceptedPerSecond, doneMs, donePerSecond }: JobsMeasured): Row[] {
  const within = (ms: number) => `${amount(count)} in ${duration(ms)}`;
  return [
    { what: 'jobs accepted', value: rate(acceptedPerSecond), of: within(acceptedMs) },
    { what: 'jobs done, end to end', value: rate(donePerSecond), of: within(doneMs) },
  ];
}

function operationRows(measured: OperationsMeasured, clients: number): Row[] {
  const { count, ms, latencyMs, converted, refused } = measured;
  const latency = (what: string, value: number | undefined): Row[] =>
    value === undefined ? [] : [{ what, value: `${amount(value)} ms`, of: '' }];
  const counted = (what: string, value: number): Row[] =>
    value === 0 ? [] : [{ what, value: amount(value), of: `of ${amount(count)}` }];
  return [
    {
      what: 'operations answered',
      value: rate(measured.perSecond),
      of: `${amount(count)} in ${duration(ms)}, ${amount(clients)} at once`,
    },
    ...latency('operation latency p50', latencyMs?.p50),
    ...latency('operation latency p95', latencyMs?.p95),
    ...latency('operation latency p99', latencyMs?.p99),
    ...counted('answered before their end', converted),
    ...counted('refused', refused),
  ];
}
