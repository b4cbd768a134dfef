import { Command } from 'commander';
import { VERSION } from '../version.js';
import type { End, Surroundings } from './surroundings.js';

/** Makes a command and those below it; `program` makes all there are, for who tells of them. */
type CommandMaker = (surroundings: Surroundings, end: End, program: () => Promise<Command>) => Command;

/** Where the makers of the commands are, as the help groups them. Loaded one by one: who lists groups does not wait for a server. */
const COMMANDS: Readonly<Record<string, Readonly<Record<string, () => Promise<CommandMaker>>>>> = {
  'Run:': {
    start: async () => (await import('./commands/start.js')).startCommand,
    demo: async () => (await import('./commands/demo.js')).demoCommand,
    migrate: async () => (await import('./commands/migrate.js')).migrateCommand,
    config: async () => (await import('./commands/config.js')).configCommand,
    bench: async () => (await import('./commands/bench.js')).benchCommand,
  },
  'Ask a running server:': {
    submit: async () => (await import('./commands/submit.js')).submitCommand,
    groups: async () => (await import('./commands/groups.js')).groupsCommand,
    tenants: async () => (await import('./commands/tenants.js')).tenantsCommand,
    jobs: async () => (await import('./commands/jobs.js')).jobsCommand,
    dlq: async () => (await import('./commands/dlq.js')).dlqCommand,
    batches: async () => (await import('./commands/batches.js')).batchesCommand,
    ops: async () => (await import('./commands/ops.js')).opsCommand,
    dags: async () => (await import('./commands/dags.js')).dagsCommand,
  },
  'Help:': {
    doctor: async () => (await import('./commands/doctor.js')).doctorCommand,
    completion: async () => (await import('./commands/completion.js')).completionCommand,
  },
};

/**
 * The program `millrace`.
 * @param only - the name of the one command that is needed; all of them unless it is known.
 */
export async function programOf(surroundings: Surroundings, end: End, only?: string): Promise<Command> {
  const program = new Command('millrace')
    .description("Runs other people's work on Node.")
    .version(VERSION, '-V, --version', 'Print the version.');
  const whole = () => programOf(surroundings, end);
  const isKnown = Object.values(COMMANDS).some((group) => Object.hasOwn(group, only ?? ''));
  for (const [heading, makers] of Object.entries(COMMANDS)) {
    program.commandsGroup(heading);
    for (const [name, load] of Object.entries(makers))
      if (!isKnown || name === only) program.addCommand((await load())(surroundings, end, whole));
  }
  program.helpCommand('help [command]', 'Show the help of a command.');
  for (const command of allCommands(program)) settle(command, surroundings);
  return program;
}

/** A command and all below it. */
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
