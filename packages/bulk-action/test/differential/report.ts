import type { Command } from './commands.js';
import type { Finding } from './compare.js';

const COMMANDS_SHOWN = 10;

const json = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => (typeof part === 'function' ? 'a function' : part)) ??
  'undefined';

const lines = (commands: readonly Command[], from: number): string[] =>
  commands.slice(from).map((command, at) => `    ${from + at + 1}. ${json(command)}`);

/**
 * Tells a difference so that it can be looked into: where, what was asked, both answers, what came before, and how to
 * see it again.
 */
export function told(finding: Finding, shortest: Finding | undefined, file: string): string {
  const { seed, commands } = finding;
  const parts = [
    `Seed ${seed}: the stores differ at command ${commands.length}`,
    ...difference(finding),
    `  the last commands:`,
    ...lines(commands, Math.max(0, commands.length - COMMANDS_SHOWN)),
    `  replay it with: MILLRACE_DIFF_SEED=${seed} npx vitest run ${file}`,
  ];
  if (!shortest) return parts.join('\n');
  return [
    ...parts,
    `  shortest, with ${json(shortest.world.config)}:`,
    ...lines(shortest.commands, 0),
    ...difference(shortest),
  ].join('\n');
}

const difference = ({ asked, answers, difference: { path, first, second } }: Finding): string[] => [
  `  ${json(asked)}`,
  `  ${path}: ${json(first)} against ${json(second)}`,
  `  the first store answers  ${json(answers[0])}`,
  `  the second store answers ${json(answers[1])}`,
];
