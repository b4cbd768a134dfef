import { Command } from 'commander';
import { VERSION } from '../version.js';
import type { End, Surroundings } from './surroundings.js';

/** Makes a command and those below it. */
type CommandMaker = (surroundings: Surroundings, end: End) => Command;

/** Where the makers of the commands are, as the help groups them. Loaded one by one: who lists groups does not wait for a server. */
const COMMANDS: Readonly<Record<string, Readonly<Record<string, () => Promise<CommandMaker>>>>> = {
  'Run:': {
    start: async () => (await import('./commands/start.js')).startCommand,
    migrate: async () => (await import('./commands/migrate.js')).migrateCommand,
    config: async () => (await import('./commands/config.js')).configCommand,
  },
  'Ask a running server:': {
    groups: async () => (await import('./commands/groups.js')).groupsCommand,
  },
};

/**
 * The program `millrace`.
 * @param surroundings - see Surroundings.
 * @param end - takes the exit code of the command that runs.
 * @param only - the name of the one command that is needed; all of them unless it is known.
 */
export async function programOf(surroundings: Surroundings, end: End, only?: string): Promise<Command> {
  const program = new Command('millrace')
    .description("Runs other people's work on Node.")
    .version(VERSION, '-V, --version', 'Print the version.')
    .helpCommand('help [command]', 'Show the help of a command.');
  const isKnown = Object.values(COMMANDS).some((group) => Object.hasOwn(group, only ?? ''));
  for (const [heading, makers] of Object.entries(COMMANDS)) {
    program.commandsGroup(heading);
    for (const [name, load] of Object.entries(makers))
      if (!isKnown || name === only) program.addCommand((await load())(surroundings, end));
  }
  for (const command of allCommands(program)) settle(command, surroundings);
  return program;
}

/**
 * A command and all below it.
 * @param command - the first.
 */
export const allCommands = (command: Command): readonly Command[] => [
  command,
  ...command.commands.flatMap(allCommands),
];

/** Commands that are added do not take these from the program. */
function settle(command: Command, { stdout, stderr }: Surroundings): void {
  if (command.parent) command.helpCommand(false);
  command
    .helpOption('-h, --help', 'Show this help.')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      // The same text everywhere: it does not depend on who reads it.
      getOutHelpWidth: () => HELP_WIDTH,
      getErrHelpWidth: () => HELP_WIDTH,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
}

const HELP_WIDTH = 100;
