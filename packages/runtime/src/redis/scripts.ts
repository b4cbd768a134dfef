import { defineScript } from '@millrace/redis';

const lua = (name: string): URL => new URL(`../../lua/${name}.lua`, import.meta.url);

/** What the scripts that answer with `{word, …}` give. */
type Answer<W extends string> = readonly [word: W, ...values: (string | number)[]];

const answer = <W extends string>(reply: unknown): Answer<W> => reply as Answer<W>;

/** The verbs of the queue, one Lua file each. */
export const QUEUE_SCRIPTS = {
  put: defineScript({
    name: 'put',
    file: lua('put'),
    keys: ['items', 'taken', 'meta', 'wake', 'room', 'client'],
    args: ['layout', 'maxSize', 'clientTtlMs', 'sequence', 'idsAndPayloads...'],
    returns: "{'put', accepted, createdAtMs} | {'full', size} | {'closed'} | {'stale'} | {'layout', found}",
    decode: answer<'put' | 'full' | 'closed' | 'stale' | 'layout'>,
  }),
  take: defineScript({
    name: 'take',
    file: lua('take'),
    keys: ['items', 'taken', 'leases', 'meta', 'wake', 'client'],
    args: ['layout', 'leaseMs', 'clientTtlMs', 'owner', 'sequence', 'count'],
    returns:
      "{'taken', id, entry, id, entry, …} | {'empty', nextInMs or -1, closed} | {'drained'} | {'stale'} | {'layout', found}",
    decode: answer<'taken' | 'empty' | 'drained' | 'stale' | 'layout'>,
  }),
  confirm: defineScript({
    name: 'confirm',
    file: lua('confirm'),
    keys: ['items', 'taken', 'leases', 'meta', 'wake', 'room', 'client', 'corrupt'],
    args: ['maxSize', 'clientTtlMs', 'owner', 'sequence', 'idsAndVerdicts...'],
    returns: 'one letter per item: k kept, r returned, c set aside, l lost',
    decode: String,
  }),
  giveBack: defineScript({
    name: 'give-back',
    file: lua('give-back'),
    keys: ['items', 'taken', 'wake', 'client'],
    args: ['maxSize', 'clientTtlMs', 'sequence', 'entries...'],
    returns: 'how many were returned',
    decode: Number,
  }),
  close: defineScript({
    name: 'close',
    file: lua('close'),
    keys: ['meta', 'wake', 'room'],
    args: ['layout'],
    returns: "{'closed'} | {'layout', found}",
    decode: answer<'closed' | 'layout'>,
  }),
  size: defineScript({
    name: 'size',
    file: lua('size'),
    keys: ['items', 'meta'],
    args: ['layout'],
    returns: "{'size', waiting, closed} | {'layout', found}",
    decode: answer<'size' | 'layout'>,
  }),
};
