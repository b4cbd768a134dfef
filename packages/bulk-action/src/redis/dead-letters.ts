import type { DeadLetter, DeadLetterSignature } from '../model.js';
import type { DeadLetterFilter, DeadLetterStore } from '../ports.js';
import { plainCursor } from '../rules/shard-pages.js';
import { mergeSignatures } from '../rules/shard-views.js';
import type { MarkedPage } from '../shard-port.js';
import type { EngineLink } from './engine-link.js';
import type { Values } from './scripts.js';
import { markedPage, withPayload } from './views.js';

/** Letters of one step: each is read whole, and others wait meanwhile. */
const SIGNATURES_STEP = 500;
/** Values of one signature in a reply. */
const SIGNATURE_VALUES = 9;

/** Dead letters on Redis. */
export const redisDeadLetters = (link: EngineLink): DeadLetterStore => {
  const move = async (mode: 'redrive' | 'purge', filter: DeadLetterFilter, max: number) => {
    const [moved, more] = await link.run('redrive', { mode, ...filterOf(filter), max });
    return { moved: Number(moved), more: Number(more) === 1 };
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
  const args = { ...filterOf(filter), limit, cursor: plainCursor(cursor) ?? '-' };
  return markedPage(await link.run('listLetters', args), letterOf);
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
