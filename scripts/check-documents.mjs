import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { testNames } from './check-requirements.mjs';
import { root } from './command.mjs';
import { markdownFiles } from './markdown-snippets.mjs';
import { parseSource, report } from './source-files.mjs';

const GUARANTEES = 'docs/guarantees.md';

const read = (path) => readFileSync(join(root, path), 'utf8');

const withoutBlocks = (path) => read(path).replace(/^```[\s\S]*?^```$/gm, '');

/** The links of a document to places in the repository. */
const targetsIn = (path) =>
  [
    ...withoutBlocks(path)
      .replace(/`[^`\n]*`/g, '')
      .matchAll(/\]\((?![a-z]+:)([^)\s]+)\)/gi),
  ].map(([, target]) => target);

const fileOf = (path, target) => {
  const [place] = target.split('#');
  return place === '' ? path : posix.join(posix.dirname(path), place).replace(/\/$/, '');
};

/** The anchors of a document, as GitHub makes them of headings. */
const anchorsIn = (path) =>
  [...withoutBlocks(path).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-'),
  );

/** Finds out why a link of a document leads nowhere. Returns no problem for a link that works. */
export function linkProblems(path, target) {
  const file = fileOf(path, target);
  const [, anchor] = target.split('#');
  if (file.startsWith('..')) return [`${path}: ${target} leads out of the repository`];
  if (!existsSync(join(root, file))) return [`${path}: ${file} does not exist`];
  if (anchor === undefined || !file.endsWith('.md') || anchorsIn(file).includes(anchor)) return [];
  return [`${path}: ${file} has no heading #${anchor}`];
}

/** Finds the documents that no chain of links from the README reaches. A decision record needs no link. */
function unreached(documents) {
  const reached = new Set(['README.md']);
  for (const path of reached)
    for (const target of targetsIn(path)) {
      const file = fileOf(path, target);
      for (const page of [file, `${file}/README.md`]) if (documents.includes(page)) reached.add(page);
    }
  const isExpected = (path) => !path.startsWith('docs/adr/') && !reached.has(path);
  return documents.filter(isExpected).map((path) => `${path}: no link from the README leads here`);
}

const matches = (text, pattern) => [...text.matchAll(pattern)].map(([, found]) => found);

/** Finds tests and scenarios of the guarantees that do not exist, and guarantees that name none. */
export function guaranteeProblems(text, scenarios) {
  const links = [...text.matchAll(/\]\(\.\.\/([^)#]+)\)((?:,? "[^"]+")+)/g)];
  const untested = links.flatMap(([, path, names]) => {
    const titles = testNames(parseSource(path, read(path)));
    const isMissing = (name) => !titles.some((title) => title.includes(name));
    return matches(names, /"([^"]+)"/g)
      .filter(isMissing)
      .map((name) => `no test in ${path} is named "${name}"`);
  });
  // Settings and classes in backticks have capitals.
  const unknown = matches(text, /`([a-z\d]+(?:-[a-z\d]+)+)`/g)
    .filter((name) => !scenarios.has(name))
    .map((name) => `no scenario is named ${name}`);
  // The chaos test proves nothing without a scenario.
  const proof =
    /\]\(\.\.\/(?!chaos\/)[^)]+\) "|`[a-z\d-]+`|^as .* promises.*not tested here$|^the same process$/;
  const unproved = matches(text, /^\| (?!promise |store |-)(.+) \|$/gm)
    .flatMap((row) => row.split(' | ').slice(1))
    .filter((cell) => !proof.test(cell))
    .map((cell) => `a proof is [file](../path) "name of the test" or a scenario, got ${cell}`);
  return [...untested, ...unknown, ...unproved].map((problem) => `${GUARANTEES}: ${problem}`);
}

if (import.meta.filename === process.argv[1]) {
  const documents = markdownFiles();
  const broken = documents.flatMap((path) => targetsIn(path).flatMap((target) => linkProblems(path, target)));
  const { FAULTS } = await import('../chaos/dist/faults.js');
  const scenarios = new Set(FAULTS.flatMap((fault) => fault.scenarios));
  report('documents', [
    ...broken,
    ...unreached(documents),
    ...guaranteeProblems(read(GUARANTEES), scenarios),
  ]);
}
