import { describe, expect, it } from 'vitest';
import { readCommandLine, replayCommand } from '../src/command-line.js';

const argumentsOf = (command: string) => command.replace('npm run chaos -- ', '').split(' ');

describe('the command line of chaos', () => {
  it('asks for all scenarios once in full size, by a seed of its own, unless told otherwise', () => {
    expect(readCommandLine([], () => 5)).toEqual({
      scenarios: [],
      seed: 5,
      minutes: 0,
      scale: 1,
      list: false,
    });
    expect(readCommandLine(['a', 'b', '--seed', '9', '--minutes', '2', '--short'])).toEqual({
      scenarios: ['a', 'b'],
      seed: 9,
      minutes: 2,
      scale: 0.05,
      list: false,
    });
    expect(readCommandLine(['--list'])).toMatchObject({ list: true });
  });

  it('refuses what is no number and options that do not exist', () => {
    expect(readCommandLine(['--seed', 'x'])).toBeUndefined();
    expect(readCommandLine(['--minutes', 'soon'])).toBeUndefined();
    expect(() => readCommandLine(['--hurry'])).toThrow(TypeError);
  });

  it('replays a run by the same scenario, seed and scale', () => {
    for (const scale of ['', ' --short']) {
      const played = readCommandLine(`meteor --seed 7${scale}`.split(' '));
      const [scenario = ''] = played?.scenarios ?? [];
      const { seed = 0, scale: size = 0 } = played ?? {};
      expect(readCommandLine(argumentsOf(replayCommand({ scenario, seed, scale: size })))).toEqual(played);
    }
  });
});
