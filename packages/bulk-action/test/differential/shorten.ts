import { type BulkActionConfig, resolveBulkActionConfig } from '../../src/options.js';
import type { Command } from './commands.js';
import { type Finding, type Pair, replay } from './compare.js';

const REPLAYS_MAX = 600;

/** What is left to try, and the shortest that still shows a difference. */
interface Search {
  best: Finding;
  left: number;
}

/**
 * Leaves out commands, parts of commands and settings for as long as there still is a difference, be it another one than
 * the first: two hundred commands say little to whoever has to find the mistake.
 */
export async function shorten(pair: Pair, finding: Finding, replays = REPLAYS_MAX): Promise<Finding> {
  const best = await replay(pair, finding, finding.commands);
  // Seen only in the order of the first run: nothing can be left out.
  if (!best) return finding;
  const search: Search = { best, left: replays };
  await leaveOutCommands(pair, search);
  await leaveOutParts(pair, search);
  await leaveOutSettings(pair, search);
  return search.best;
}

async function isStillFound(
  pair: Pair,
  search: Search,
  changed: Partial<Pick<Finding, 'world' | 'commands'>>,
): Promise<boolean> {
  if (search.left-- <= 0) return false;
  const { seed, world, commands } = { ...search.best, ...changed };
  const found = await replay(pair, { seed, world }, commands);
  if (found) search.best = found;
  return found !== undefined;
}

async function leaveOutCommands(pair: Pair, search: Search): Promise<void> {
  let size = Math.ceil(search.best.commands.length / 2);
  while (size >= 1 && search.left > 0) {
    const before = search.best.commands.length;
    for (let at = before - size; at > -size; at -= size) {
      const { commands } = search.best;
      const shorter = commands.toSpliced(Math.max(0, at), Math.min(size, size + at));
      if (shorter.length < commands.length) await isStillFound(pair, search, { commands: shorter });
    }
    if (size === 1 && search.best.commands.length === before) return;
    size = Math.max(1, Math.floor(size / 2));
  }
}

async function leaveOutParts(pair: Pair, search: Search): Promise<void> {
  for (let at = 0; at < search.best.commands.length; at++) {
    for (let part = 0; ; ) {
      const { commands } = search.best;
      const command = commands[at];
      const slimmer = command && withoutPart(command, part);
      if (!slimmer) break;
      if (!(await isStillFound(pair, search, { commands: commands.with(at, slimmer) }))) part += 1;
    }
  }
}

/** The command without one of the things it is about; undefined when it has no such part or only this one. */
function withoutPart(command: Command, part: number): Command | undefined {
  const less = <T>(list: readonly T[]) =>
    list.length > 1 && part < list.length ? list.toSpliced(part, 1) : undefined;
  switch (command.kind) {
    case 'add': {
      const jobs = less(command.jobs);
      return jobs && { ...command, jobs, incoming: command.incoming - 1 };
    }
    case 'settle': {
      const settlements = less(command.settlements);
      return settlements && { ...command, settlements };
    }
    case 'renew':
    case 'giveBack': {
      const leases = less(command.leases);
      return leases && { ...command, leases };
    }
    case 'recover': {
      const randoms = less(command.randoms);
      return randoms && { ...command, randoms };
    }
    default:
      return undefined;
  }
}

async function leaveOutSettings(pair: Pair, search: Search): Promise<void> {
  const sections = Object.entries(search.best.world.config);
  for (const [section, settings] of sections)
    for (const [name, value] of Object.entries(settings as Readonly<Record<string, unknown>>)) {
      if (value === undefined) continue;
      const { world } = search.best;
      const config = { ...world.config } as Record<string, unknown>;
      config[section] = { ...(config[section] as object), [name]: undefined };
      if (!isValid(config)) continue;
      await isStillFound(pair, search, { world: { ...world, config: config as BulkActionConfig } });
    }
}

/** Some settings are bound to others. */
function isValid(config: BulkActionConfig): boolean {
  try {
    resolveBulkActionConfig(config);
    return true;
  } catch {
    return false;
  }
}
