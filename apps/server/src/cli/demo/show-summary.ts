import { amount, duration, percent } from '../show/amounts.js';
import type { Column, Printer } from '../show/printer.js';
import type { Spread } from './facts.js';
import { wrapped } from './paper.js';
import type { DemoSummary, TenantSummary } from './summary.js';

const median = (spread: Spread | null): string => duration(spread?.median);
const share = (value: number | null): string => (value === null ? '-' : percent(value));

const COLUMNS: readonly Column<TenantSummary>[] = [
  { name: 'tenant', of: ({ tenant }) => tenant },
  { name: 'jobs', of: ({ jobs }) => amount(jobs), isNumber: true },
  { name: 'done', of: ({ success }) => amount(success), isNumber: true },
  { name: 'failed', of: ({ failed }) => amount(failed), isNumber: true },
  { name: 'share', of: (tenant) => share(tenant.share), isNumber: true },
  { name: 'fair', of: (tenant) => share(tenant.fairShare), isNumber: true },
  { name: 'first start', of: ({ firstStartMs }) => median(firstStartMs), isNumber: true },
  { name: 'all done', of: ({ doneMs }) => median(doneMs), isNumber: true },
];

const LEGEND =
  'share, fair: of all that was started while the tenant wanted something. ' +
  'first start, all done: after the submission of a group, of half of its groups.';
const INDENT = 2;

/** Prints what came of a demo for a person. */
export function showSummary(printer: Printer, summary: DemoSummary, columns: number): void {
  printer.table(COLUMNS, summary.tenants, 'It has brought no jobs.');
  printer.line('');
  for (const sentence of summary.takeaways)
    for (const [at, line] of wrapped(sentence, columns - INDENT).entries())
      printer.line(`${at === 0 ? '-' : ' '} ${line}`);
  printer.line('');
  for (const line of wrapped(LEGEND, columns)) printer.line(line);
}
