import { describe, expect, it } from 'vitest';
import { type Happening, isLimited, type Phase, stepOf } from '../../../src/cli/watch/supervision.js';

const RUNNING: Phase = { at: 'running', losesJobs: false };
const REPLACING: Phase = { at: 'replacing' };
const WAITING: Phase = { at: 'waiting' };
const ENDING: Phase = { at: 'ending', isUrgent: false };
const URGENT: Phase = { at: 'ending', isUrgent: true };

const changed = (...files: string[]): Happening => ({ what: 'changed', files });
const ended = (code: number | null, signal: string | null = null): Happening => ({
  what: 'ended',
  code,
  signal,
  isWatching: true,
});
const signal = (name: 'SIGTERM' | 'SIGINT', isAgain = false): Happening => ({
  what: 'signal',
  signal: name,
  isAgain,
});

/** The last phase, and everything done on the way in short. */
function after(from: Phase, ...happenings: Happening[]): { phase: Phase; done: string[] } {
  const done: string[] = [];
  let phase = from;
  for (const happening of happenings) {
    const step = stepOf(phase, happening);
    phase = step.phase;
    for (const deed of step.deeds)
      done.push(deed.do === 'start' ? 'start' : deed.do === 'say' ? `"${deed.line}"` : deed.signal);
  }
  return { phase, done };
}

describe('a change', () => {
  it('replaces the server that runs, and says what is lost by it', () => {
    const { phase, done } = after(RUNNING, { what: 'serves', losesJobs: true }, changed('app.js'), ended(0));
    expect(phase).toEqual(RUNNING);
    expect(done).toEqual([
      '"app.js has changed: starting anew (bulk jobs in memory are lost)"',
      'SIGHUP',
      'start',
    ]);
  });

  it('loses nothing of a server that had not served, or that keeps its jobs elsewhere', () => {
    const line = '"app.js and 2 more have changed: starting anew"';
    expect(after(RUNNING, changed('app.js', 'b.js', 'c.js')).done[0]).toBe(line);
    const serves: Happening = { what: 'serves', losesJobs: false };
    expect(after(RUNNING, serves, changed('app.js', 'b.js', 'c.js')).done[0]).toBe(line);
  });

  it('while a server ends starts no second one', () => {
    expect(after(REPLACING, changed('b.js'), { what: 'serves', losesJobs: true })).toEqual({
      phase: REPLACING,
      done: [],
    });
    expect(after(ENDING, changed('b.js'))).toEqual({ phase: ENDING, done: [] });
  });

  it('starts a server when the last one has failed', () => {
    const { phase, done } = after(RUNNING, ended(1), changed('app.js'));
    expect(phase).toEqual(RUNNING);
    expect(done).toEqual([
      '"The server has ended with exit code 1; it is started anew when one of its files changes."',
      '"app.js has changed: starting"',
      'start',
    ]);
  });
});

describe('the end of a server', () => {
  it('by itself is told, by a signal too', () => {
    expect(after(RUNNING, ended(null, 'SIGSEGV')).done).toEqual([
      '"The server has ended by SIGSEGV; it is started anew when one of its files changes."',
    ]);
  });

  it('ends the supervisor when there is nothing to wait for', () => {
    const nothing = { what: 'ended', signal: null, isWatching: false } as const;
    expect(after(RUNNING, { ...nothing, code: 2 })).toEqual({
      phase: { at: 'ended', exitCode: 2 },
      done: [],
    });
    expect(after(RUNNING, { ...nothing, code: null }).phase).toEqual({ at: 'ended', exitCode: 1 });
  });

  it('is waited for only so long when another shall start, and however it ended another starts', () => {
    expect(isLimited(REPLACING)).toBe(true);
    const { phase, done } = after(REPLACING, { what: 'overdue' }, ended(null, 'SIGKILL'));
    expect(phase).toEqual(RUNNING);
    expect(done).toEqual(['"The server has not ended within 3.0 s: it is killed."', 'SIGKILL', 'start']);
    expect(after(RUNNING, { what: 'overdue' })).toEqual({ phase: RUNNING, done: [] });
  });
});

describe('a signal', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    '%s goes to the server, whose exit code is the last word',
    (name) => {
      expect(after(RUNNING, signal(name), ended(0))).toEqual({
        phase: { at: 'ended', exitCode: 0 },
        done: [name],
      });
      expect(after(REPLACING, signal(name), ended(7)).phase).toEqual({ at: 'ended', exitCode: 7 });
      // Before it could handle it.
      expect(after(RUNNING, signal(name), ended(null, name)).phase).toEqual({ at: 'ended', exitCode: 0 });
    },
  );

  it('gives the server its grace period, which is not limited until the user asks again', () => {
    const once = after(RUNNING, signal('SIGINT'), signal('SIGINT'), signal('SIGTERM'));
    expect(once).toEqual({ phase: ENDING, done: ['SIGINT', 'SIGINT', 'SIGTERM'] });
    expect(isLimited(once.phase)).toBe(false);
    expect(after(ENDING, { what: 'overdue' }).done).toEqual([]);
    const again = after(ENDING, signal('SIGINT', true), signal('SIGTERM'));
    expect(again.phase).toEqual(URGENT);
    expect(isLimited(URGENT)).toBe(true);
    expect(after(URGENT, { what: 'overdue' }).done).toContain('SIGKILL');
    expect(after(URGENT, ended(null, 'SIGKILL')).phase).toEqual({ at: 'ended', exitCode: 130 });
  });

  it('tells of a server that somebody else has killed', () => {
    expect(after(ENDING, ended(null, 'SIGKILL')).phase).toEqual({ at: 'ended', exitCode: 1 });
  });

  it('ends at once when no server runs', () => {
    expect(after(WAITING, signal('SIGINT'), signal('SIGINT', true))).toEqual({
      phase: { at: 'ended', exitCode: 0 },
      done: [],
    });
  });
});
