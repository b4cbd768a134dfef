import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Argument, Command, Option } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bashScript } from '../../src/cli/completion/bash.js';
import { allNodes, commandTree } from '../../src/cli/completion/command-tree.js';
import { fishScript } from '../../src/cli/completion/fish.js';
import { zshScript } from '../../src/cli/completion/zsh.js';
import { programOf } from '../../src/cli/program.js';
import { capturedSurroundings, runCaptured } from './captured.js';

const run = promisify(execFile);

/** Completes each line of words, the last of which is under the cursor, in a bash that has the script. */
async function completed(script: string, folder: string, lines: readonly (readonly string[])[]) {
  const file = join(folder, 'script.bash');
  await writeFile(file, script);
  const commands = lines.map(
    (words) => `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
      _millrace; printf '%s\\n' "\${COMPREPLY[@]}" --end--`,
  );
  const { stdout } = await run('bash', ['--norc', '-uc', [`source '${file}'`, ...commands].join('\n')], {
    cwd: folder,
    env: { PATH: process.env.PATH },
  });
  const replies = stdout.split('--end--\n').slice(0, -1);
  return replies.map((reply) => reply.split('\n').filter((word) => word !== ''));
}

describe('millrace completion', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'millrace-completion-'));
    await writeFile(join(folder, 'a dag.json'), '{}');
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('completes commands, options, choices and files in bash', async () => {
    const { exitCode, out } = runCaptured(['completion', 'bash']);
    expect(await exitCode).toBe(0);
    const cases: readonly (readonly [string, readonly string[]])[] = [
      ['millrace dl', ['dlq']],
      ['millrace dlq ', ['list', 'redrive', 'purge']],
      ['millrace dlq list --by', ['--by-signature']],
      ['millrace batches list --status ', ['RUNNING', 'DONE', 'FAILED', 'ABORTED']],
      ['millrace batches list --status D', ['DONE']],
      ['millrace batches list --status = AB', ['ABORTED']],
      ['millrace batches list --status =', ['RUNNING', 'DONE', 'FAILED', 'ABORTED']],
      // The value of an option is no command and no argument.
      ['millrace batches list --dag show --status R', ['RUNNING']],
      ['millrace batches list --dag ', []],
      ['millrace batches show 12 ', []],
      ['millrace dags apply ', ['a\\ dag.json', 'script.bash']],
      ['millrace dags apply script.bash ', []],
      // As bash cuts --url http://x:1.
      ['millrace dags apply --url http : //x : 1 s', ['script.bash']],
      ['millrace batches list --url = http : //x --status AB', ['ABORTED']],
      ['millrace start --config a', ['a\\ dag.json']],
      ['millrace completion ', ['bash', 'zsh', 'fish']],
      ['millrace completion bash ', []],
      ['millrace --v', ['--version']],
      ['millrace ops wait --timeout', ['--timeout']],
      ['millrace nothing here ', []],
    ];
    const lines = cases.map(([line]) => line.split(' '));
    const replies = await completed(out(), folder, lines);
    for (const [index, [line, expected]] of cases.entries())
      expect([...(replies[index] ?? [])].sort(), line).toEqual([...expected].sort());
  });

  it('knows every command and option that the help shows', async () => {
    const program = await programOf(capturedSurroundings().surroundings, () => {});
    const nodes = allNodes(commandTree(program));
    expect(nodes.length).toBeGreaterThan(20);
    for (const script of ['bash', 'zsh', 'fish']) {
      const { exitCode, out } = runCaptured(['completion', script]);
      expect(await exitCode).toBe(0);
      for (const { name, options } of nodes) {
        expect(out()).toContain(name);
        for (const { flags } of options) expect(out()).toContain(flags.at(-1)?.replace('--', ''));
      }
    }
  });

  it('quotes every text: nothing is run, whatever a command is called or says', async () => {
    const planted = `$(touch planted) \`touch planted\` '"; touch planted; '\\`;
    const program = new Command('millrace').description(planted).addCommand(
      new Command('do')
        .description(planted)
        .addOption(new Option('--kind <kind>', planted).choices([planted, '*', 'plain']))
        .addArgument(new Argument('<what>').choices([planted])),
    );
    const tree = commandTree(program);
    const script = bashScript(tree);
    const [kinds, whats] = await completed(script, folder, [
      ['millrace', 'do', '--kind', ''],
      ['millrace', 'do', ''],
    ]);
    // As one word that can be typed.
    expect(kinds).toEqual([expect.stringContaining('\\$\\(touch\\ planted\\)'), '\\*', 'plain']);
    expect(whats).toHaveLength(1);
    const { stdout } = await run('ls', [folder]);
    expect(stdout).not.toContain('planted');
    // The shells that may be missing here: no quote is left open, none closed early.
    expect(zshScript(tree)).toContain(`touch planted; '\\''`);
    expect(fishScript(tree)).toContain(`"; touch planted; \\'\\\\`);
  });

  it('refuses other shells, and says how to install', async () => {
    const wrong = runCaptured(['completion', 'tcsh']);
    expect(await wrong.exitCode).toBe(2);
    expect(wrong.err()).toContain('Allowed choices are bash, zsh, fish');
    const help = runCaptured(['completion', '--help']);
    expect(await help.exitCode).toBe(0);
    expect(help.out()).toContain('.config/fish/completions/millrace.fish');
  });
});
