import { shellWord } from '../show/text.js';
import { allNodes, type CommandNode, type OptionNode, type Value } from './command-tree.js';

/** The script that lets bash complete a program; it needs nothing but bash, from 3.2 on. */
export function bashScript(program: CommandNode): string {
  const nodes = allNodes(program);
  return `${[
    `# bash completion of ${program.name}.`,
    `_${program.name}() {`,
    ...WALK,
    '    case "$path $word" in',
    ...nodes.filter(({ path }) => path.length > 1).map(descend),
    ...takers(nodes),
    '      *) [[ $word == -* ]] || place=$((place + 1)) ;;',
    '    esac',
    '  done',
    '  words=()',
    '  case "$path $previous" in',
    ...nodes.flatMap(optionValues),
    '    *)',
    '      if [[ $current == -* ]]; then',
    '        case "$path" in',
    ...nodes.map(optionNames),
    '        esac',
    '      else',
    '        case "$path $place" in',
    ...nodes.flatMap(placeValues),
    '        esac',
    '      fi ;;',
    '  esac',
    ...REPLY,
    '}',
    `complete -F _${program.name} ${program.name}`,
  ].join('\n')}\n`;
}

/** Finds the command, and how many of its arguments stand before the cursor. Bash gives `--a=b` and `a:b` as three words. */
const WALK = [
  `  local path='' place=0 skip='' glued='' files='' word i current=\${COMP_WORDS[COMP_CWORD]} previous=''`,
  '  local -a words',
  '  COMPREPLY=()',
  `  ((COMP_CWORD > 1)) && previous=\${COMP_WORDS[COMP_CWORD - 1]}`,
  "  [[ $current == '=' ]] && current=''",
  `  [[ $previous == '=' ]] && previous=\${COMP_WORDS[COMP_CWORD - 2]}`,
  '  for ((i = 1; i < COMP_CWORD; i++)); do',
  `    word=\${COMP_WORDS[i]}`,
  "    if [[ $glued ]]; then glued=''; continue; fi",
  "    if [[ $word == ':' ]]; then glued=1; continue; fi",
  "    [[ $word == '=' ]] && continue",
  "    if [[ $skip ]]; then skip=''; continue; fi",
];

/** Compares by itself: `compgen -W` would expand what it is given. */
const REPLY = [
  `  for word in \${words[@]+"\${words[@]}"}; do`,
  '    [[ $word == "$current"* ]] && COMPREPLY+=("$(printf \'%q\' "$word")")',
  '  done',
  // The shell itself knows best how names of files are quoted; before 4.0 it cannot be asked.
  '  if [[ $files ]] && ! compopt -o default 2>/dev/null; then',
  `    while IFS= read -r word; do COMPREPLY+=("$(printf '%q' "$word")"); done < <(compgen -f -- "$current")`,
  '  fi',
];

/** The path of a command within the script: without the program's name, after which all begin. */
const pathOf = ({ path }: CommandNode): string =>
  path
    .slice(1)
    .map((name) => ` ${name}`)
    .join('');

const descend = (node: CommandNode): string =>
  `      ${shellWord(pathOf(node))}) path=${shellWord(pathOf(node))} place=0 ;;`;

const takers = (nodes: readonly CommandNode[]): string[] =>
  nodes.flatMap((node) =>
    cases(
      node,
      node.options.filter(({ value }) => value),
      'skip=1',
    ),
  );

/** Of every option that takes a value: after it stands no command, and no argument. */
const optionValues = (node: CommandNode): string[] => {
  const taking = node.options.filter(({ value }) => value);
  const isOpen = ({ value }: OptionNode) => value && !value.isFile && value.words.length === 0;
  return [
    ...taking
      .filter((option) => !isOpen(option))
      .flatMap((option) => cases(node, [option], given(option.value as Value))),
    ...cases(node, taking.filter(isOpen), ':'),
  ];
};

/** What to do at any of these options. */
const cases = (node: CommandNode, options: readonly OptionNode[], what: string): string[] => {
  const flags = options.flatMap((option) => option.flags.map((flag) => shellWord(`${pathOf(node)} ${flag}`)));
  return flags.length === 0 ? [] : [`    ${flags.join(' | ')}) ${what} ;;`];
};

const optionNames = (node: CommandNode): string =>
  `          ${shellWord(pathOf(node))}) ${wordList(node.options.flatMap(({ flags }) => flags.slice(-1)))} ;;`;

function placeValues(node: CommandNode): string[] {
  const at = (place: string) => `          ${shellWord(`${pathOf(node)} `)}${place})`;
  if (node.commands.length > 0) return [`${at('0')} ${wordList(node.commands.map(({ name }) => name))} ;;`];
  return node.values.map((value, place) => {
    const isEndless = node.isVariadic && place === node.values.length - 1;
    return `${at(isEndless ? '*' : String(place))} ${given(value)} ;;`;
  });
}

const given = ({ words, isFile }: Value): string => (isFile ? 'files=1' : wordList(words));

const wordList = (words: readonly string[]): string => `words=(${words.map(shellWord).join(' ')})`;
