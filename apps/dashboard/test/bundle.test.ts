import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';

const PAGE = new URL('../../server/page/', import.meta.url);
const GZIPPED_MAX = 200 * 1024;

const read = (path: string) => readFileSync(new URL(path.replace(/^\//, ''), PAGE), 'utf8');

/** Scripts that a script loads before it runs. */
function withImports(path: string, seen: Set<string>): Set<string> {
  if (seen.has(path)) return seen;
  seen.add(path);
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  for (const [, from = ''] of read(path).matchAll(/(?:^|[;}])import[^"'(]*["']\.\/([^"']+)["']/g))
    withImports(folder + from, seen);
  return seen;
}

it('loads at most 200 KB of JavaScript before it is there, gzipped', () => {
  const html = read('index.html');
  const first = [...html.matchAll(/(?:src|href)="([^"]+\.js)"/g)].map(([, path]) => path as string);
  const scripts = first.reduce((seen, path) => withImports(path, seen), new Set<string>());
  const bytes = [...scripts].reduce((sum, path) => sum + gzipSync(read(path)).length, 0);
  expect(scripts.size).toBeGreaterThan(0);
  expect(bytes).toBeLessThanOrEqual(GZIPPED_MAX);
  const text = [...scripts].map(read).join('\n');
  // The DAG comes when somebody looks at one, schemas never.
  expect(text).not.toContain('react-flow');
  expect(text).not.toContain('ZodError');
});

it('has nothing inline: the policy of the server would block it', () => {
  const html = read('index.html');
  expect(html).not.toMatch(/<script(?![^>]*\ssrc=)/);
  expect(html).not.toMatch(/<style|\sstyle=|\son\w+=/);
});
