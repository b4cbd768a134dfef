import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { allCommands, programOf } from '../../src/cli/program.js';
import { capturedSurroundings } from './captured.js';

/** What `--help` prints. */
async function helpOf(path: readonly string[]): Promise<string> {
  const { surroundings, out } = capturedSurroundings();
  const program = await programOf(surroundings, () => {});
  const ended = await program.parseAsync([...path, '--help'], { from: 'user' }).catch((error) => error);
  expect(ended).toMatchObject({ code: 'commander.helpDisplayed', exitCode: 0 });
  return out();
}

/** The words that call a command, without the program's name. */
const pathOf = (command: Command): readonly string[] =>
  command.parent ? [...pathOf(command.parent), command.name()] : [];

const isHelp = (command: Command) => command.name() === 'help';

it('docs/cli.md is what each command says of itself (vitest -u writes it)', async () => {
  const { surroundings } = capturedSurroundings();
  const program = await programOf(surroundings, () => {});
  const sections: string[] = [];
  for (const command of allCommands(program).filter((each) => !isHelp(each))) {
    const path = pathOf(command);
    const heading = ['millrace', ...path].join(' ');
    sections.push(`## \`${heading}\`\n\n\`\`\`text\n${(await helpOf(path)).trimEnd()}\n\`\`\`\n`);
  }
  const text = [
    '# The command line\n',
    'What each command says with `--help`. Data goes to standard output, everything else to standard error; bars are drawn on a terminal only.',
    'Exit codes: 0 done, 1 failed, 2 usage or configuration, 130 interrupted. `NO_COLOR` turns colours off.\n',
    ...sections,
  ].join('\n');
  await expect(text).toMatchFileSnapshot('../../../../docs/cli.md');
});

it('every command and option is described by a sentence', async () => {
  const { surroundings } = capturedSurroundings();
  const program = await programOf(surroundings, () => {});
  const described = allCommands(program)
    .filter((command) => !isHelp(command))
    .flatMap((command) => [
      [pathOf(command).join(' '), command.description()],
      ...command.options.map(({ long, description }) => [
        `${pathOf(command).join(' ')} ${long}`,
        description,
      ]),
      ...command.registeredArguments.map((argument) => [
        `${pathOf(command).join(' ')} <${argument.name()}>`,
        argument.description,
      ]),
    ]);
  expect(described.filter(([, text = '']) => !/^\S.*[.)]$/s.test(text))).toEqual([]);
});
