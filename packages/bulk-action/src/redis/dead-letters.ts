import type { DeadLetter, DeadLetterSignature } from '../model.js';
import type { DeadLetterFilter, DeadLetterStore } from '../ports.js';
import { plainCursor } from '../rules/shard-pages.js';
import { mergeSignatures } from '../rules/shard-views.js';
import type { MarkedPage } from '../shard-port.js';
import type { EngineLink } from './engine-link.js';
import type { Values } from './scripts.js';
import { markedPage, withPayload } from './views.js';

/** Letters that one script looks at: each is read whole, and everybody else waits meanwhile. */
const SIGNATURES_STEP = 500;
const LOOKS_MAX = 1_000;
/** Values of one signature in a reply. */
const SIGNATURE_VALUES = 9;

/** Dead letters on Redis. */
export const redisDeadLetters = (link: EngineLink): DeadLetterStore => {
  const move = async (mode: 'redrive' | 'purge', filter: DeadLetterFilter, max: number) => {
    let moved = 0;
    for (let after = '0'; ; ) {
      const args = { mode, ...filterOf(filter), max: max - moved, after, looksMax: LOOKS_MAX };
      const [some, more, next] = await link.run('redrive', args);
      moved += Number(some);
      if (Number(next) === 0) return { moved, more: Number(more) === 1 };
      after = String(next);
    }
  };
  return {
    async list(filter, limit, cursor) {
      const { marks: _, ...page } = await listLetters(link, filter, limit, cursor);
      return page;
    },
    async signatures(filter, limit) {
      const { key, tenant } = filterOf(filter);
      let found: readonly DeadLetterSignature[] = [];
      let cursor = '0';
      do {
        const args = { key, tenant, max: SIGNATURES_STEP, cursor };
        const [next, ...rest] = await link.run('listSignatures', args);
        found = mergeSignatures([found, signaturesOf(rest)], Number.POSITIVE_INFINITY);
        cursor = String(next);
      } while (cursor !== '0');
      return found.slice(0, limit);
    },
    redrive: (filter, max) => move('redrive', filter, max),
    purge: (filter, max) => move('purge', filter, max),
  };
};

/** As lua/list-signatures.lua answers. */
function signaturesOf(values: Values): readonly DeadLetterSignature[] {
  return Array.from({ length: values.length / SIGNATURE_VALUES }, (_, index) => {
    const from = index * SIGNATURE_VALUES;
    const [signature, count, first, last, ...texts] = values.slice(from, from + SIGNATURE_VALUES);
    const [processorType, code, groupId, jobId, message] = texts.map(String) as [
      ...[string, string, string, string, string],
    ];
    return {
      signature: String(signature),
      count: Number(count),
      firstFailedAt: Number(first),
      lastFailedAt: Number(last),
      processorType,
      code,
      sample: { groupId, jobId, message },
    };
  });
}

/** Newest first. */
export async function listLetters(
  link: EngineLink,
  filter: DeadLetterFilter,
  limit: number,
  cursor: string | undefined,
): Promise<MarkedPage<DeadLetter>> {
  const items: DeadLetter[] = [];
  const marks: string[] = [];
  for (let at = plainCursor(cursor) ?? '-'; ; ) {
    const args = { ...filterOf(filter), limit: limit - items.length, cursor: at, looksMax: LOOKS_MAX };
    const reply = await link.run('listLetters', args);
    const page = markedPage(reply, letterOf);
    items.push(...page.items);
    marks.push(...page.marks);
    const next = Number(reply[0]);
    const last = marks.at(-1);
    if (next >= 0) return { items, marks, ...(next === 1 && last !== undefined && { cursor: last }) };
    at = String(-next);
  }
}

/** `*` and '' stand for "any". */
const filterOf = ({ key, jobId, signature, tenant }: DeadLetterFilter) => ({
  key: key ?? '*',
  jobId: jobId ?? '*',
  signature: signature ?? '',
  tenant: tenant ?? '*',
});

function letterOf(text: string): DeadLetter {
  const letter = JSON.parse(text) as DeadLetter;
  return { ...letter, job: withPayload(letter.job) };
}
