import { amount, duration } from '../show/amounts.js';
import { safeText } from '../show/text.js';
import type { BatchFacts, DemoFacts, OperationFacts, ServiceFacts, StepFacts } from './facts.js';
import { cut, type Paper, wrapped } from './paper.js';
import { tenantTable } from './tenant-table.js';

/** Wider lines are harder to follow with the eye. */
const COLUMNS_MAX = 130;
const LABEL = 14;
const CAUSES_SHOWN = 3;
const ANSWER_LINES = 2;

/**
 * A demo at one moment, as lines of a terminal: none is wider than the paper, and they are fewer than its rows.
 */
export function pictureOf(facts: DemoFacts, given: Paper): readonly string[] {
  const paper = { ...given, columns: Math.min(given.columns, COLUMNS_MAX) };
  const below = [
    '',
    ...serviceLines(facts.service, paper),
    ...dagLines(facts.batches, paper),
    ...operationLines(facts.operations, paper),
    ...chatLines(facts, paper),
    ...deadLetterLines(facts, paper),
  ];
  const above = [titleOf(facts, paper), ''];
  const table = tenantTable(facts, paper, paper.rows - 1 - above.length - below.length);
  return [...above, ...table, ...below].slice(0, Math.max(1, paper.rows - 1));
}

function titleOf({ url, elapsedMs, lengthMs, isOver }: DemoFacts, { columns, colours }: Paper): string {
  const seconds = (ms: number) => Math.round(ms / 1000);
  const time = isOver
    ? 'over'
    : `${Math.min(seconds(elapsedMs), seconds(lengthMs))} of ${seconds(lengthMs)} s`;
  const name = ' Millrace demo';
  const room = columns - 1 - name.length - time.length;
  if (room < 0) return cut(`${name} ${time}`, columns - 1);
  const address = cut(`   ${safeText(url)}/`, Math.max(0, room - 2));
  return `${colours.bold(name)}${colours.dim(address)}${time.padStart(columns - 1 - name.length - address.length)}`;
}

/** What a line is about, and what there is to say; a coloured text must be known to fit. */
function labelled(label: string, text: string, { colours }: Paper): string {
  return ` ${colours.dim(label.padEnd(LABEL - 1))}${text}`;
}

const roomOf = ({ columns }: Paper): number => Math.max(1, columns - 1 - LABEL);

function serviceLines(service: ServiceFacts | null, paper: Paper): readonly string[] {
  if (!service) return [labelled('service', cut('not called yet', roomOf(paper)), paper)];
  const { resource, perSecond, limit, refused, level } = service;
  const text = [
    `${safeText(resource)}: refused ${amount(refused)}`,
    limit === null ? 'no limit learnt yet' : `learnt limit ${amount(round(limit))}/s`,
    `now ${amount(round(perSecond))}/s`,
    ...(level === 'NONE' ? [] : [level]),
  ].join(', ');
  return [labelled('service', cut(text, roomOf(paper)), paper)];
}

const round = (value: number): number => Math.round(value * 10) / 10;

const MARKS: Readonly<Record<StepFacts['state'], string>> = {
  waiting: '·',
  running: '…',
  done: '✔',
  failed: '✖',
  'left out': '–',
};

function dagLines({ newest, done, failed, open }: BatchFacts, paper: Paper): readonly string[] {
  const { colours } = paper;
  const colour = { ...PLAIN, done: colours.green, failed: colours.red, running: colours.yellow };
  const wordOf = ({ key, state }: StepFacts) => `${safeText(key)} ${MARKS[state]}`;
  const drawn = (paint: (text: string, state: StepFacts['state']) => string, arrow: string) =>
    newest.map((level) => level.map((step) => paint(wordOf(step), step.state)).join(' ')).join(arrow);
  const plain = drawn((text) => text, ARROW);
  if (plain === '') return [labelled('DAG', cut('none yet', roomOf(paper)), paper)];
  if (plain.length > roomOf(paper)) return [labelled('DAG', cut(plain, roomOf(paper)), paper)];
  const counts = [
    `${amount(done)} done`,
    ...(failed > 0 ? [`${amount(failed)} failed`] : []),
    ...(open > 0 ? [`${amount(open)} running`] : []),
  ];
  const room = roomOf(paper) - plain.length - GAP.length;
  // The fewest words are lost: how many run can be seen from the steps.
  while (counts.length > 0 && counts.join(', ').length > room) counts.pop();
  const steps = drawn((text, state) => colour[state](text), colours.dim(ARROW));
  return [labelled('DAG', `${steps}${GAP}${colours.dim(counts.join(', '))}`.trimEnd(), paper)];
}

const ARROW = ' → ';
const GAP = '  ';
const same = (text: string): string => text;
const PLAIN: Readonly<Record<StepFacts['state'], (text: string) => string>> = {
  waiting: same,
  running: same,
  done: same,
  failed: same,
  'left out': same,
};

function operationLines(
  { completed, failed, open, medianMs }: OperationFacts,
  paper: Paper,
): readonly string[] {
  const text = [
    `${amount(completed)} done`,
    ...(failed > 0 ? [`${amount(failed)} failed`] : []),
    ...(open > 0 ? [`${amount(open)} running`] : []),
    ...(medianMs === null ? [] : [`half of them within ${duration(medianMs)}`]),
  ].join(', ');
  return [labelled('operations', cut(text, roomOf(paper)), paper)];
}

/** Always as many lines, so that nothing below jumps; of a long answer the end. */
function chatLines({ chat }: DemoFacts, paper: Paper): readonly string[] {
  const { colours } = paper;
  const room = roomOf(paper);
  const question = cut(chat.question === '' ? 'nobody has asked yet' : safeText(chat.question), room);
  const cursor = chat.isStreaming ? '▌' : '';
  const lines = wrapped(safeText(chat.answer.replaceAll(/\s+/g, ' ')), room - 1).slice(-ANSWER_LINES);
  const last = Math.max(0, lines.length - 1);
  return [
    labelled('chat', colours.italic(question), paper),
    ...Array.from({ length: ANSWER_LINES }, (_, at) =>
      labelled('', `${lines[at] ?? ''}${at === last ? colours.yellow(cursor) : ''}`, paper).trimEnd(),
    ),
  ];
}

function deadLetterLines({ deadLetters }: DemoFacts, paper: Paper): readonly string[] {
  const { colours } = paper;
  const { count, causes } = deadLetters;
  if (count === 0) return [labelled('dead letters', cut('no job has failed for good', roomOf(paper)), paper)];
  const width = amount(causes[0]?.count).length;
  return causes
    .slice(0, CAUSES_SHOWN)
    .map(({ signature, count: times }, at) =>
      labelled(
        at === 0 ? 'dead letters' : '',
        `${colours.red(amount(times).padStart(width))} ${cut(safeText(signature), roomOf(paper) - width - 1)}`,
        paper,
      ),
    );
}
