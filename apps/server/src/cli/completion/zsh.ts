import { shellWord } from '../show/text.js';
import { allNodes, type CommandNode, type OptionNode, type Value } from './command-tree.js';

/**
 * The script that lets zsh complete a program, as a file `_program` of its function path or when it is sourced.
 */
export function zshScript(program: CommandNode): string {
  const { name } = program;
  return `${[
    `#compdef ${name}`,
    ...allNodes(program).flatMap(functionOf),
    `if [[ $funcstack[1] == _${name} ]]; then`,
    `  _${name} "$@"`,
    'else',
    `  compdef _${name} ${name}`,
    'fi',
  ].join('\n')}\n`;
}

function functionOf(node: CommandNode): string[] {
  const name = functionName(node);
  const options = node.options.flatMap(optionSpecs);
  if (node.commands.length === 0)
    return [`${name}() {`, ...specs('_arguments -s -S', [...options, ...placeSpecs(node)]), '}'];
  return [
    `${name}() {`,
    '  local curcontext="$curcontext" state line',
    '  local -a commands',
    ...specs('_arguments -C', [...options, "'1: :->command'", "'*:: :->rest'"]),
    '  case $state in',
    '    command)',
    '      commands=(',
    ...node.commands.map((below) => `        ${shellWord(`${colonless(below.name)}:${below.description}`)}`),
    '      )',
    '      _describe -t commands command commands ;;',
    '    rest)',
    '      case $line[1] in',
    ...node.commands.map((below) => `        ${shellWord(below.name)}) ${functionName(below)} ;;`),
    '      esac ;;',
    '  esac',
    '}',
  ];
}

const functionName = ({ path }: CommandNode): string => `_${path.join('_').replaceAll(/[^\w]/g, '_')}`;

const specs = (call: string, lines: readonly string[]): string[] =>
  [call, ...lines.map((line) => `  ${line}`)].map(
    (line, index) => `  ${line}${index < lines.length ? ' \\' : ''}`,
  );

/** Each flag by itself, and none of them twice. */
const optionSpecs = ({ flags, description, value }: OptionNode): string[] =>
  flags.map((flag) => {
    const isLong = flag.startsWith('--');
    const name = `(${flags.join(' ')})${flag}${value && isLong ? '=' : ''}`;
    const text = description.replaceAll(/[\\[\]:]/g, '\\$&');
    return shellWord(`${name}[${text}]${value ? `:${valueSpec(value)}` : ''}`);
  });

const placeSpecs = ({ values, isVariadic }: CommandNode): string[] =>
  values.map((value, index) =>
    shellWord(`${isVariadic && index === values.length - 1 ? '*' : index + 1}:${valueSpec(value)}`),
  );

function valueSpec({ name, words, isFile }: Value): string {
  if (isFile) return `${colonless(name)}:_files`;
  // An empty list: where only the name is shown, zsh would not complete an option that stands there instead.
  return `${colonless(name)}:(${words.map(listed).join(' ') || ' '})`;
}

const colonless = (text: string): string => text.replaceAll(/[\\:]/g, '\\$&');

const listed = (word: string): string => word.replaceAll(/[\\:\s()'"$`*?[\]{}<>|&;#~]/g, '\\$&');
