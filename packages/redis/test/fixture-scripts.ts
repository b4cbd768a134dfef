import { defineScript } from '../src/index.js';

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
  break: defineScript({
    name: 'break',
    file: new URL('break.lua', FIXTURES),
    keys: [],
    args: [],
    returns: 'nothing',
    decode: () => undefined,
  }),
};
