import { Argument, Command } from 'commander';
import { type CommandNode, commandTree } from '../completion/command-tree.js';
import type { End, Surroundings } from '../surroundings.js';

/** Makes the script of a shell; loaded when it is asked for. */
const SHELLS: Readonly<Record<string, () => Promise<(program: CommandNode) => string>>> = {
  bash: async () => (await import('../completion/bash.js')).bashScript,
  zsh: async () => (await import('../completion/zsh.js')).zshScript,
  fish: async () => (await import('../completion/fish.js')).fishScript,
};

/**
 * `millrace completion`: prints a script with which a shell completes commands.
 * @param _end - is not called: it ends well.
 */
export function completionCommand(
  { stdout }: Surroundings,
  _end: End,
  program: () => Promise<Command>,
): Command {
  return new Command('completion')
    .description('Print a script that lets a shell complete commands and options.')
    .addArgument(new Argument('<shell>', 'Which shell.').choices(Object.keys(SHELLS)))
    .addHelpText('after', INSTALL)
    .action(async (shell: string) => {
      const script = await SHELLS[shell]?.();
      stdout.write(script?.(commandTree(await program())) ?? '');
    });
}

const INSTALL = `
To have it in every new shell:
  bash  millrace completion bash > ~/.millrace-completion.bash
        echo 'source ~/.millrace-completion.bash' >> ~/.bashrc
  zsh   mkdir -p ~/.zfunc && millrace completion zsh > ~/.zfunc/_millrace
        and in ~/.zshrc, before compinit: fpath=(~/.zfunc $fpath)
  fish  millrace completion fish > ~/.config/fish/completions/millrace.fish
Do it again after an update: the script holds the commands of this version.`;
