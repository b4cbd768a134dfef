import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { programOf } from '../../src/cli/program.js';
import { capturedSurroundings } from './captured.js';

const DOCTOR = fileURLToPath(new URL('../../src/cli/doctor/', import.meta.url));

/** `millrace dlq redrive --signature`: the words that name a command, and the options up to the end of the sentence. */
const CALL = /\bmillrace ((?:[a-z]+ ?){1,2})([^.;`]*)/g;

it('recommends only commands and options that there are', async () => {
  const program = await programOf(capturedSurroundings().surroundings, () => {});
  const calls = readdirSync(DOCTOR, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => [...readFileSync(join(DOCTOR, name), 'utf8').matchAll(CALL)]);
  expect(calls.length).toBeGreaterThan(8);
  const wrong = calls.flatMap(([call, names = '', rest = '']) => {
    const words = names.trim().split(' ');
    const top = program.commands.find((command) => command.name() === words[0]);
    const command =
      top && top.commands.length > 0 ? top.commands.find((one) => one.name() === words[1]) : top;
    const options = [...rest.matchAll(/--[a-z-]+/g)].map(([option]) => option);
    const isKnown = options.every((option) => command?.options.some(({ long }) => long === option));
    return command && isKnown ? [] : [call];
  });
  expect(wrong).toEqual([]);
});
