import { defineScript, type KeySpace, loadScripts } from '../src/index.js';

export const FIXTURES = new URL('./fixtures/', import.meta.url);

export const FIXTURE_SCRIPTS = {
  count: defineScript({
    name: 'count',
    file: new URL('count.lua', FIXTURES),
    keys: ['counter', 'seen'],
    args: ['operation', 'steps...'],
    returns: '{counter, now}',
    decode: (reply) => {
      const [counter, now] = reply as [number, number];
      return { counter, now };
    },
  }),
  refuse: defineScript({
    name: 'refuse',
    file: new URL('refuse.lua', FIXTURES),
    keys: [],
    args: [],
    returns: 'nothing',
    decode: () => undefined,
  }),
};

export const fixtures = loadScripts(FIXTURE_SCRIPTS);

/** Counts an operation in a key space. The same operation counts once, however often it is sent. */
export const countCall = (key: KeySpace, operation: string) =>
  fixtures.count.call({
    keys: { counter: key('counter'), seen: key('seen') },
    args: { operation, steps: [1] },
  });

/** Resolves with what a promise rejects with. */
export const failure = (promise: Promise<unknown>) => promise.catch((thrown: unknown) => thrown);
