import { shellWord } from '../../show/shell-word.js';
import type { ServerFacts } from '../facts.js';

/**
 * The command that scales every instance that runs jobs, at once and until it is restarted.
 * @param facts - which server, and whether it is asked with a key.
 */
export function scaleCommand(
  { url, hasKey }: Pick<ServerFacts, 'url' | 'hasKey'>,
  workerCount: number,
): string {
  const key = hasKey ? ' -H "authorization: Bearer $MILLRACE_API_KEY"' : '';
  return `curl -X PATCH ${shellWord(`${url}/api/bulk/pool`)}${key} -H 'content-type: application/json' -d '{"workerCount":${workerCount}}'`;
}
