import type { DeadLetter } from '../model.js';
import type { DeadLetterFilter, DeadLetterStore } from '../ports.js';
import { plainCursor } from '../rules/shard-pages.js';
import type { MarkedPage } from '../shard-port.js';
import type { EngineLink } from './engine-link.js';
import { markedPage, withPayload } from './views.js';

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
      const reply = await link.run('listSignatures', { key, tenant });
      const found = Array.from({ length: reply.length / 3 }, (_, index) => ({
        signature: String(reply[index * 3]),
        count: Number(reply[index * 3 + 1]),
        lastFailedAt: Number(reply[index * 3 + 2]),
      }));
      return found.sort((a, b) => b.count - a.count || (a.signature < b.signature ? -1 : 1)).slice(0, limit);
    },
    redrive: (filter, max) => move('redrive', filter, max),
    purge: (filter, max) => move('purge', filter, max),
  };
};

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
