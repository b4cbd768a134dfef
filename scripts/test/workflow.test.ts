import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { root } from '../command.mjs';

interface Job {
  readonly strategy: { readonly matrix: { readonly node?: readonly number[] } };
  readonly steps: readonly { readonly run?: string }[];
}
const workflow = readFileSync(join(root, '.github/workflows/test.yml'), 'utf8');
const jobs: Record<string, Job> = parse(workflow).jobs;
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

it('each command of the workflow is a script of package.json', () => {
  const commands = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []));
  const names = commands.map((command) => /^npm (?:run )?(\S+)/.exec(command)?.[1]);
  expect(names).toEqual(['test', 'smoke']);
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(names));
});

it('the tests run on the supported releases of Node', () => {
  expect(jobs.test?.strategy.matrix.node).toEqual([20, 22, 24]);
});
