import { amount, duration } from '../show/amounts.js';
import { safeText } from '../show/text.js';
import type { DemoFacts, Shares, TenantFacts } from './facts.js';
import { cut, type Paper } from './paper.js';

/** What every demo tenant is called before its own name. */
const PREFIX = 'demo-';

/** Widths of what does not grow with the screen; between two columns are two spaces, before the units one. */
const NAME = 8;
const RATE = 6;
const LEFT = 10;
const PERCENT = 5;
const FIXED = 1 + NAME + 2 + 1 + RATE + 2 + LEFT + 2 + 1 + PERCENT + 1 + PERCENT;
const BAR_MIN = 4;
/** Of the room for the two bars, that of the jobs. */
const JOBS_PART = 0.55;

/** Of what depends on the screen and on what is shown. */
interface Widths {
  readonly counts: number;
  readonly jobs: number;
  readonly share: number;
}

/**
 * A line for each tenant, below a head: how far its jobs are, and its share against what is fair; that of now, in the end that of all.
 * @param linesMax - with the head; those who bring least are told together.
 */
export function tenantTable(
  { tenants, isOver }: Pick<DemoFacts, 'tenants' | 'isOver'>,
  paper: Paper,
  linesMax: number,
): readonly string[] {
  const counts = Math.max('done'.length, ...tenants.map((tenant) => countsOf(tenant).length));
  const widths = widthsFor(paper.columns, counts);
  const rowsMax = Math.max(1, linesMax - 1);
  const shown = tenants.length > rowsMax ? mostImportant(tenants, rowsMax - 1) : tenants;
  const left = tenants.filter((tenant) => !shown.includes(tenant));
  return [
    headOf(isOver ? 'got' : 'now', paper, widths),
    ...shown.map((tenant) => rowOf(tenant, isOver ? tenant.overall : tenant.now, paper, widths)),
    ...(left.length > 0 ? [restOf(left, paper)] : []),
  ];
}

function widthsFor(columns: number, counts: number): Widths {
  const room = Math.max(2 * BAR_MIN, columns - 1 - FIXED - counts);
  const jobs = Math.max(BAR_MIN, Math.round(room * JOBS_PART));
  return { counts, jobs, share: Math.max(BAR_MIN, room - jobs) };
}

/** The whale and the others stay; of the small ones those that have most left to do. */
function mostImportant(tenants: readonly TenantFacts[], count: number): readonly TenantFacts[] {
  const leftOf = ({ jobs, done, failed, cancelled }: TenantFacts) => jobs - done - failed - cancelled;
  const kept = [...tenants]
    .sort((a, b) => Number(a.kind === 'small') - Number(b.kind === 'small') || leftOf(b) - leftOf(a))
    .slice(0, count);
  return tenants.filter((tenant) => kept.includes(tenant));
}

function headOf(got: string, { colours, columns }: Paper, { counts, jobs, share }: Widths): string {
  const cells = [
    'tenant'.padEnd(NAME),
    'jobs'.padEnd(jobs),
    'done'.padStart(counts),
    'per s'.padStart(RATE),
    ' '.repeat(1),
    'left'.padStart(LEFT - 1),
    ' share'.padEnd(share + 1),
    got.padStart(PERCENT),
    'fair'.padStart(PERCENT),
  ];
  return colours.dim(cut(` ${cells.join(' ')}`, columns - 1));
}

function rowOf(tenant: TenantFacts, shares: Shares | null, paper: Paper, widths: Widths): string {
  const { colours, columns } = paper;
  const { id, jobs, done, failed, cancelled, perSecond, etaMs } = tenant;
  const ended = done + failed + cancelled;
  const name = safeText(id.startsWith(PREFIX) ? id.slice(PREFIX.length) : id);
  const isDone = ended >= jobs;
  const numbers = [
    countsOf(tenant).padStart(widths.counts),
    (isDone ? '' : amount(Math.round(perSecond))).padStart(RATE),
    '',
    (isDone ? '' : duration(etaMs)).padStart(LEFT),
  ].join(' ');
  const percents = `${shareText(shares?.share)} ${shareText(shares?.fairShare)}`;
  const text = (part: string) => (tenant.kind === 'whale' ? colours.bold(part) : part);
  if (columns - 1 < FIXED + widths.counts + 2 * BAR_MIN)
    return text(cut(` ${name.padEnd(NAME)} ${numbers}`, columns - 1));
  return [
    ` ${text(cut(name, NAME).padEnd(NAME))}`,
    jobsBar(tenant, widths.jobs, paper),
    `${numbers} `,
    shares ? shareBar(shares, widths.share, paper) : '',
    percents,
  ]
    .join(' ')
    .trimEnd();
}

const countsOf = ({ done, failed, jobs }: TenantFacts): string =>
  `${amount(done + failed)} of ${amount(jobs)}`;

const shareText = (share = 0): string => (share > 0 ? `${Math.round(share * 100)} %` : '').padStart(PERCENT);

/** Done, failed for good, and what is left. */
function jobsBar({ jobs, done, failed }: TenantFacts, width: number, { colours }: Paper): string {
  const cells = (count: number) => (jobs === 0 ? 0 : Math.floor((count / jobs) * width));
  const ended = cells(done + failed);
  const good = Math.min(ended, cells(done));
  return (
    colours.green('█'.repeat(good)) +
    colours.red('█'.repeat(ended - good)) +
    colours.dim('░'.repeat(width - ended))
  );
}

/** How much of everything it gets, with a mark where its fair share is. */
function shareBar({ share, fairShare }: Shares, width: number, { colours }: Paper): string {
  const filled = Math.round(Math.min(1, share) * width);
  const mark = fairShare > 0 ? Math.min(width - 1, Math.round(fairShare * width)) : undefined;
  return Array.from({ length: width }, (_, at) => {
    if (at === mark) return colours.yellow('┃');
    return at < filled ? colours.cyan('█') : colours.dim('░');
  }).join('');
}

function restOf(tenants: readonly TenantFacts[], { colours, columns }: Paper): string {
  const sum = (of: (tenant: TenantFacts) => number) =>
    tenants.reduce((total, tenant) => total + of(tenant), 0);
  const done = amount(sum((tenant) => tenant.done + tenant.failed));
  const all = amount(sum(({ jobs }) => jobs));
  return colours.dim(cut(` and ${tenants.length} more, ${done} of ${all} jobs done`, columns - 1));
}
