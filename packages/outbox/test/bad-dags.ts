import { type DagDefinition, defineDag, type TaskDefinition, task } from '../src/define-dag.js';

const run = () => {};
const good = task({ run });
const after = (...keys: readonly string[]) => task({ run, after: keys });

type Tasks = Parameters<typeof defineDag>[1];

const bad = (what: string, tasks: Tasks, reason: string | RegExp, name = 'orders') => ({
  what,
  dag: defineDag(name, tasks),
  reason,
});

/** A root and one task that is not typed as it must be. */
const withTask = (what: string, definition: object, reason: string | RegExp) =>
  bad(what, { a: good, b: { run, ...definition } as TaskDefinition }, reason);

const NAME = /^its name must be 1 to 100 characters/;
const KEY = /^the key of a task must be 1 to 200 characters/;

/** DAGs that are refused for what they are, and the reason that is given. */
export const BAD_DAGS: readonly { what: string; dag: DagDefinition; reason: string | RegExp }[] = [
  bad('no task', {}, 'it has no task'),
  bad('an empty name', { a: good }, NAME, ''),
  bad('a name with a dot', { a: good }, NAME, 'a.b'),
  bad('a name with a slash', { a: good }, NAME, 'a/b'),
  bad('a name with a line end', { a: good }, NAME, 'a\nb'),
  bad('a name with half a surrogate pair', { a: good }, NAME, 'a\ud83d'),
  bad('a name that is too long', { a: good }, NAME, 'n'.repeat(101)),
  bad('a name that is no text', { a: good }, NAME, 5 as unknown as string),
  bad('an empty key', { '': good }, KEY),
  bad('a key with a slash', { 'a/b': good }, KEY),
  bad('a key with NUL', { 'a\0': good }, /got 'a\\u0000'$/),
  bad('a key with half a surrogate pair', { 'a\udc00': good }, /got 'a\\udc00'$/),
  bad('a key that is too long', { ['k'.repeat(201)]: good }, KEY),
  bad('a key that is no text', [[1 as unknown as string, good]], /got '1'$/),
  bad(
    'a task that is no pair',
    ['a' as unknown as [string, TaskDefinition]],
    /pairs of key and task, got a$/,
  ),
  bad(
    'a task that is missing',
    { a: undefined as unknown as TaskDefinition },
    "task 'a' must be made with task({ … })",
  ),
  bad(
    'a key twice',
    [
      ['a', good],
      ['b', good],
      ['a', after('b')],
    ],
    "it has two tasks 'a'",
  ),
  bad('a parent twice', { a: good, b: after('a', 'a') }, "task 'b' is after 'a' twice"),
  bad(
    'an unknown parent',
    { charge: good, ship: after('chrage') },
    "task 'ship' is after 'chrage', which is not there; did you mean 'charge'?",
  ),
  bad(
    'an unknown parent like no other',
    { a: good, b: after('warehouse') },
    "task 'b' is after 'warehouse', which is not there",
  ),
  bad('a task after itself', { a: good, b: after('b') }, 'tasks wait for each other: b → b'),
  bad(
    'a cycle',
    { root: good, a: after('root', 'c'), b: after('a'), c: after('b'), d: after('c') },
    'tasks wait for each other: a → b → c → a',
  ),
  bad(
    'a long cycle',
    [
      ['root', good],
      ...Array.from({ length: 9 }, (_, i) => {
        return [`t${i}`, i === 0 ? after('root', 't8') : after(`t${i - 1}`)] as const;
      }),
    ],
    'tasks wait for each other: t0 → t1 → t2 → t3 → t4 → … (4 more) → t0',
  ),
  bad('no root', { a: after('b'), b: after('a') }, 'it has no root, every task waits for another: a → b → a'),
  bad(
    'a join without parents',
    { a: task({ run, join: 'any' }) },
    "task 'a' has a join, but nothing in 'after' to wait for",
  ),
  withTask(
    'atLeast 0',
    { after: ['a'], join: { atLeast: 0 } },
    "task 'b': join.atLeast must be from 1 to 1, the number of tasks it is after, got 0",
  ),
  withTask('atLeast above the parents', { after: ['a'], join: { atLeast: 2 } }, /from 1 to 1, .* got 2$/),
  withTask('atLeast 1.5', { after: ['a'], join: { atLeast: 1.5 } }, /^task 'b': join must be /),
  withTask(
    'a join with more in it',
    { after: ['a'], join: { atLeast: 1, atMost: 2 } },
    /^task 'b': join must be /,
  ),
  withTask(
    'an unknown join',
    { after: ['a'], join: 'some' },
    /^task 'b': join must be one of 'all', 'any', 'all-done', or \{ atLeast: a number \}, got 'some'$/,
  ),
  withTask(
    'an unknown option',
    { timeoutMS: 5 },
    "task 'b': there is no option 'timeoutMS'; did you mean 'timeoutMs'?",
  ),
  withTask('after that is no list', { after: 'a' }, "task 'b': after must be a list of task keys, got 'a'"),
  withTask(
    'timeoutMs 0',
    { timeoutMs: 0 },
    "task 'b': timeoutMs must be an integer from 1 to 86400000, got 0",
  ),
  withTask('timeoutMs above a day', { timeoutMs: 86_400_001 }, /timeoutMs must be/),
  withTask('timeoutMs 1.5', { timeoutMs: 1.5 }, /timeoutMs must be/),
  withTask(
    'retries −1',
    { retry: { retries: -1 } },
    "task 'b': retry.retries must be an integer from 0 to 100, got -1",
  ),
  withTask('retries 101', { retry: { retries: 101 } }, /retry\.retries must be/),
  withTask(
    'an unknown backoff',
    { retry: { retries: 1, backoff: 'cubic' } },
    /retry\.backoff must be one of 'exponential', 'linear', or a function, got 'cubic'$/,
  ),
  withTask(
    'jitter 2',
    { retry: { retries: 1, jitter: 2 } },
    /retry\.jitter must be a number from 0 to 1, got 2$/,
  ),
  withTask(
    'an unknown option of retry',
    { retry: { retrys: 1 } },
    /there is no option 'retry\.retrys'; did you mean 'retry\.retries'\?$/,
  ),
  withTask('backoffMs −1', { backoffMs: -1 }, /backoffMs must be an integer from 0 to 86400000, got -1$/),
  withTask(
    'an unknown mode',
    { mode: 'remote' },
    /mode must be one of 'transactional', 'external', got 'remote'$/,
  ),
  withTask(
    'an unknown failure policy',
    { onFailure: 'ignore' },
    /onFailure must be one of 'fail', 'skip', 'continue', got 'ignore'$/,
  ),
  withTask('a condition that is no function', { when: true }, /when must be a function, got true$/),
  withTask('a handler that is no function', { run: 'charge' }, /run must be a function, got 'charge'$/),
];
