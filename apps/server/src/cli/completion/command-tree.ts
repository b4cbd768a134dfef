import type { Argument, Command, Option } from 'commander';

/** What may stand for a value: words, the name of a file, or anything. */
export interface Value {
  readonly name: string;
  readonly words: readonly string[];
  readonly isFile: boolean;
}

/** An option as a shell completes it. */
export interface OptionNode {
  /** `-h` and `--help`, as far as there are. */
  readonly flags: readonly string[];
  readonly description: string;
  /** What follows it; undefined for a switch. */
  readonly value: Value | undefined;
}

/** A command as a shell completes it. */
export interface CommandNode {
  readonly name: string;
  /** From the program's own name on. */
  readonly path: readonly string[];
  readonly description: string;
  readonly options: readonly OptionNode[];
  readonly values: readonly Value[];
  /** The last value may be repeated. */
  readonly isVariadic: boolean;
  readonly commands: readonly CommandNode[];
}

/** Names that options and arguments give to values which are files or folders. */
const FILE_NAME = /^(file|files|folder|path|app|dataDir)$/;

/** The commands of a program as shells complete them; what its help hides is left out. */
export function commandTree(command: Command, above: readonly string[] = []): CommandNode {
  const help = command.createHelp();
  const path = [...above, command.name()];
  return {
    name: command.name(),
    path,
    description: command.description(),
    options: help.visibleOptions(command).map(optionNode),
    values: command.registeredArguments.map(argumentValue),
    isVariadic: command.registeredArguments.at(-1)?.variadic ?? false,
    commands: help
      .visibleCommands(command)
      // Every command has --help: the command of that name says the same once more.
      .filter((below) => below.name() !== 'help')
      .map((below) => commandTree(below, path)),
  };
}

/** A command and all below it. */
export const allNodes = (node: CommandNode): readonly CommandNode[] => [
  node,
  ...node.commands.flatMap(allNodes),
];

const optionNode = ({
  short,
  long,
  description,
  flags,
  argChoices,
  required,
  optional,
}: Option): OptionNode => ({
  flags: [short, long].filter((flag) => flag !== undefined),
  description,
  value:
    required || optional
      ? { ...named(/[<[]([^\]>.]+)/.exec(flags)?.[1] ?? 'value'), words: argChoices ?? [] }
      : undefined,
});

const argumentValue = (argument: Argument): Value => ({
  ...named(argument.name()),
  words: argument.argChoices ?? [],
});

const named = (name: string): Pick<Value, 'name' | 'isFile'> => ({ name, isFile: FILE_NAME.test(name) });
