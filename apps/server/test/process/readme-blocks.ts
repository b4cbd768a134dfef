import { readFileSync } from 'node:fs';

const README = readFileSync(new URL('../../../../README.md', import.meta.url), 'utf8');

/**
 * The code of a section of the README, as it is written.
 * @param language - of the blocks; all of them unless given.
 */
export function blocksOf(section: string, language = '\\w+'): readonly string[] {
  const text = README.split(`\n## ${section}\n`)[1]?.split('\n## ')[0] ?? '';
  const blocks = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm');
  return [...text.matchAll(blocks)].map(([, code = '']) => code);
}
