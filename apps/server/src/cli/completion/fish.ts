import { allNodes, type CommandNode, type OptionNode, type Value } from './command-tree.js';

/** The script that lets fish complete a program. */
export function fishScript(program: CommandNode): string {
  const nodes = allNodes(program);
  return `${[
    `# fish completion of ${program.name}.`,
    ...whereFunction(program.name, nodes),
    `complete -c ${program.name} -f`,
    ...nodes.flatMap((node) => [
      ...node.commands.map((below) =>
        line(program, `${pathOf(node)} 0`, wordsFlag([below.name]), below.description),
      ),
      ...node.options.map((option) => optionLine(program, node, option)),
      ...placeLines(program, node),
    ]),
  ].join('\n')}\n`;
}

/** Says whether the cursor is at a command, and at which of its arguments: the path and a number, or the path and `*`. */
const whereFunction = (program: string, nodes: readonly CommandNode[]): string[] => [
  `function __${program}_at`,
  "  set -l path ''",
  '  set -l place 0',
  '  set -l skip 0',
  '  set -l before (commandline -opc)',
  '  for word in $before[2..-1]',
  '    if test $skip = 1',
  '      set skip 0',
  '      continue',
  '    end',
  '    switch "$path $word"',
  ...nodes
    .filter(({ path }) => path.length > 1)
    .flatMap((node) => [
      `      case ${fishQuoted(pathOf(node))}`,
      `        set path ${fishQuoted(pathOf(node))}`,
      '        set place 0',
    ]),
  ...takers(nodes),
  "      case '* -*'",
  "      case '*'",
  '        set place (math $place + 1)',
  '    end',
  '  end',
  '  test "$argv[1]" = "$path $place" -o "$argv[1]" = "$path *"',
  'end',
];

const takers = (nodes: readonly CommandNode[]): string[] => {
  const flags = nodes.flatMap((node) =>
    node.options.flatMap((option) =>
      option.value ? option.flags.map((flag) => fishQuoted(`${pathOf(node)} ${flag}`)) : [],
    ),
  );
  return flags.length === 0 ? [] : [`      case ${flags.join(' ')}`, '        set skip 1'];
};

const pathOf = ({ path }: CommandNode): string =>
  path
    .slice(1)
    .map((name) => ` ${name}`)
    .join('');

const line = (program: CommandNode, at: string, what: string, description: string): string =>
  `complete -c ${program.name} -n ${fishQuoted(`__${program.name}_at ${fishQuoted(at)}`)} ${what} -d ${fishQuoted(description)}`;

function optionLine(
  program: CommandNode,
  node: CommandNode,
  { flags, description, value }: OptionNode,
): string {
  const names = flags.map((flag) =>
    flag.startsWith('--') ? `-l ${fishQuoted(flag.slice(2))}` : `-s ${fishQuoted(flag.slice(1))}`,
  );
  return line(
    program,
    `${pathOf(node)} *`,
    [...names, ...(value ? [valueFlag(value)] : [])].join(' '),
    description,
  );
}

const placeLines = (program: CommandNode, node: CommandNode): string[] =>
  node.values.flatMap((value, place) => {
    const isEndless = node.isVariadic && place === node.values.length - 1;
    const what = value.isFile ? '-F' : value.words.length > 0 ? wordsFlag(value.words) : undefined;
    return what === undefined
      ? []
      : [line(program, `${pathOf(node)} ${isEndless ? '*' : place}`, what, value.name)];
  });

const valueFlag = ({ words, isFile }: Value): string => {
  if (isFile) return '-r -F';
  return words.length > 0 ? `-x ${wordsFlag(words)}` : '-x';
};

/** fish expands the list: each word is quoted within it, too. */
const wordsFlag = (words: readonly string[]): string => `-a ${fishQuoted(words.map(fishQuoted).join(' '))}`;

/** One word of fish, where a backslash counts within single quotes, too. */
const fishQuoted = (text: string): string => `'${text.replaceAll(/[\\']/g, '\\$&')}'`;
