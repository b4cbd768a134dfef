import { some, type Verdict } from '../registry.js';
import type { Evidence } from './evidence.js';
import { isFinal, type SettledTry } from './tries.js';

/**
 * I14: the totals of each group are the settlements that were accepted for good, no more and no fewer. Only where no
 * process died: a dead one has heard no answer.
 * @param unheard - what the store says of tokens whose holder stopped waiting for the answer.
 */
export function checkTotals({ groups, testimony }: Evidence, unheard: readonly SettledTry[]): Verdict {
  const late = unheard.filter(isFinal);
  const accepted = [...testimony.settled.filter(isFinal), ...late];
  const wrong: string[] = [];
  for (const { id, counts } of groups) {
    const own = accepted.filter(({ job }) => job.startsWith(`${id}#`));
    const success = own.filter(({ jobStatus }) => jobStatus === 'COMPLETED').length;
    const failed = own.length - success;
    if (success !== counts.success || failed !== counts.failed)
      wrong.push(`${id} counts ${counts.success} + ${counts.failed}, accepted were ${success} + ${failed}`);
  }
  for (const { job, token, jobStatus } of late) {
    const { how } = testimony.tries.find((one) => one.job === job && one.token === token) ?? {};
    if ((how === 'done') !== (jobStatus === 'COMPLETED'))
      wrong.push(`${job} by token ${token} is ${jobStatus}, its try ended as ${how}`);
  }
  if (testimony.deaths > 0) wrong.push(`${testimony.deaths} processes died`);
  return {
    invariant: 'I14 totals = accepted settlements',
    held: wrong.length === 0 && accepted.length > 0,
    evidence:
      wrong.length > 0
        ? some(wrong)
        : `${accepted.length} accepted for good, as counted; ${late.length} of them unheard`,
  };
}
