import { CALLER } from '../../demo/plan.js';
import { amount, duration, percent, pluralize } from '../show/amounts.js';
import { type DemoFacts, spreadOf, type TenantFacts } from './facts.js';

/** What a demo has shown, in sentences; nothing is said of what did not happen. */
export function takeaways(facts: DemoFacts): readonly string[] {
  const whale = facts.tenants.find(({ kind }) => kind === 'whale');
  return [
    ...(whale ? [...served(whale, facts), ...shared(whale)] : []),
    ...learnt(facts),
    ...died(facts),
    ...ran(facts),
  ];
}

function served({ jobs }: TenantFacts, { tenants }: DemoFacts): readonly string[] {
  const small = tenants.filter(({ kind }) => kind === 'small');
  const groups = small.flatMap((tenant) => tenant.groups);
  const spread = spreadOf(groups.map(({ startedAfterMs }) => startedAfterMs));
  if (!spread) return [];
  return [
    `The whale brought ${pluralize(jobs, 'job')} at once. ${pluralize(groups.length, 'group')} of ${pluralize(small.length, 'small tenant')} ` +
      `came behind it: half of them had their first job started within ${duration(spread.median)}, all within ${duration(spread.max)}.`,
  ];
}

function shared({ overall }: TenantFacts): readonly string[] {
  if (!overall) return [];
  const { share, fairShare } = overall;
  // Work that nobody else wants is not left undone.
  const more = share > fairShare ? ' What is above it the others could not use.' : '';
  return [
    `As long as it had jobs waiting, the whale got ${percent(share)} of what was started; its fair share was ${percent(fairShare)}.${more}`,
  ];
}

function learnt({ service, tenants }: DemoFacts): readonly string[] {
  const caller = tenants.find(({ id }) => id === CALLER);
  if (!service || !caller || service.refused === 0) return [];
  const { resource, refused, limit } = service;
  const done = caller.done === caller.jobs ? 'all' : `${amount(caller.done)} of`;
  const rate =
    limit === null
      ? ''
      : ` Nobody has said how much it takes: it is called at most ${amount(Math.round(limit * 10) / 10)} times a second now.`;
  return [
    `${resource} refused ${pluralize(refused, 'call')}; ${done} ${pluralize(caller.jobs, 'job')} that call it are done all the same.${rate}`,
  ];
}

function died({ deadLetters: { count, causes } }: DemoFacts): readonly string[] {
  if (count === 0) return [];
  const kept =
    count === 1
      ? 'It is kept as a dead letter'
      : `They are kept as dead letters, of ${pluralize(causes.length, 'cause')}`;
  return [`${pluralize(count, 'job')} failed for good. ${kept}.`];
}

function ran({ batches, operations, chat }: DemoFacts): readonly string[] {
  const started = batches.done + batches.failed + batches.open;
  const { completed, medianMs } = operations;
  const failed = batches.failed > 0 ? `; ${amount(batches.failed)} failed, or had to end with the demo` : '';
  return [
    ...(started > 0
      ? [`Of ${pluralize(started, 'batch', 'batches')} ${amount(batches.done)} are done${failed}.`]
      : []),
    ...(medianMs === null
      ? []
      : [
          `${pluralize(completed, 'operation')} completed, half of them within ${duration(medianMs)} of their acceptance.`,
        ]),
    ...(chat.answered > 0
      ? [
          `${pluralize(chat.answered, 'chat turn')} got an answer, streamed in ${pluralize(chat.pieces, 'piece')}.`,
        ]
      : []),
  ];
}
