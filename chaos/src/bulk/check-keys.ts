import { readFileSync } from 'node:fs';
import { some, type Verdict } from '../registry.js';
import type { Evidence, StoredKey } from './evidence.js';
import { KEY_PREFIX } from './settings.js';

const DOCUMENT = new URL('../../../docs/redis-keys.md', import.meta.url);

/** A row of the document: `| \`key with <parts>\` | type | …`. */
const ROW = /^\| `([^`]+)` \| (\w+) \|/gm;

/** I8: no key that docs/redis-keys.md does not list, and each of the type it says. */
export function checkKeys({ keys }: Evidence): Verdict {
  const declared = declaredKeys(readFileSync(DOCUMENT, 'utf8'));
  const wrong = keys.filter((stored) => !declared.some((row) => row(stored)));
  return {
    invariant: 'I8 only declared keys',
    held: wrong.length === 0 && keys.length > 0,
    evidence:
      wrong.length > 0
        ? some(wrong.map(({ key, type }) => `${key} (${type})`))
        : `${keys.length} keys, all in docs/redis-keys.md`,
  };
}

/**
 * Reads the tables of the document.
 * @returns one test per row.
 */
export function declaredKeys(document: string): readonly ((stored: StoredKey) => boolean)[] {
  return [...document.matchAll(ROW)].map(([, key = '', type]) => {
    const escaped = key.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    const pattern = escaped.replace(/<keyPrefix>/g, KEY_PREFIX).replace(/<\w+>/g, '[A-Za-z0-9_.~%:/-]*');
    const whole = new RegExp(`^${pattern}$`);
    return (stored) => stored.type === type && whole.test(stored.key);
  });
}
