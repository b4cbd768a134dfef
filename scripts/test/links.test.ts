import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../command.mjs';
import { markdownFiles } from '../markdown-snippets.mjs';

const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** Code is no text: what looks like a link or a heading there is none. */
const withoutCode = (text: string) =>
  text.replace(/^```[\s\S]*?^```$/gm, '').replace(/`[^`\n]*`/g, (code) => code.replace(/[[\]()#]/g, ''));

/** As GitHub makes them of headings. */
const slugOf = (heading: string) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');

const headings = new Map<string, Set<string>>();
function slugsIn(path: string): Set<string> {
  let slugs = headings.get(path);
  if (!slugs) {
    const found = [
      ...read(path)
        .replace(/^```[\s\S]*?^```$/gm, '')
        .matchAll(/^#+ (.+)$/gm),
    ];
    slugs = new Set(found.map(([, heading = '']) => slugOf(heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1'))));
    headings.set(path, slugs);
  }
  return slugs;
}

/** What is wrong with a link of a document, if anything. */
function problemOf(path: string, target: string): string | undefined {
  if (/^[a-z]+:/i.test(target)) return undefined;
  const [place = '', anchor] = target.split('#');
  const file = place === '' ? path : normalize(join(dirname(path), place));
  if (file.startsWith('..')) return `${target} leads out of the repository`;
  if (!existsSync(join(root, file))) return `there is no ${file}`;
  if (anchor === undefined || statSync(join(root, file)).isDirectory() || !file.endsWith('.md'))
    return undefined;
  return slugsIn(file).has(anchor) ? undefined : `${file} has no heading #${anchor}`;
}

describe('links', () => {
  const documents = markdownFiles();

  it.each(documents)('of %s lead somewhere', (path) => {
    const text = withoutCode(read(path));
    const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
    expect(targets.flatMap((target) => problemOf(path, target) ?? [])).toEqual([]);
  });

  it('every document is reached from the README', () => {
    const reached = new Set(['README.md']);
    for (const path of reached)
      for (const [, target = ''] of withoutCode(read(path)).matchAll(/\]\(([^)\s#]+)[^)]*\)/g)) {
        const file = /^[a-z]+:/i.test(target) ? '' : normalize(join(dirname(path), target));
        const page = documents.includes(`${file.replace(/\/$/, '')}/README.md`)
          ? join(file, 'README.md')
          : file;
        if (documents.includes(page)) reached.add(page);
      }
    const own = documents.filter((path) => !path.startsWith('docs/adr/'));
    expect(own.filter((path) => !reached.has(path))).toEqual([]);
  });

  it('notices one that leads nowhere', () => {
    expect(problemOf('README.md', 'docs/nowhere.md')).toBe('there is no docs/nowhere.md');
    expect(problemOf('README.md', '#no-such-heading')).toContain('has no heading');
    expect(problemOf('README.md', '../elsewhere.md')).toContain('leads out');
  });
});
