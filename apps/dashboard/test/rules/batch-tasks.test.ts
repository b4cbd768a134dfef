import { expect, it } from 'vitest';
import {
  chainText,
  edgesOfPath,
  openTasks,
  parentsOf,
  pathTimeText,
  runAgain,
  stateCounts,
  taskState,
} from '../../src/rules/batch-tasks.js';
import { edgeName } from '../../src/rules/dag-ranks.js';

const COUNTS = { waiting: 3, ready: 1, processing: 2, done: 4, failed: 1, skipped: 2, cancelled: 5 };
const NONE = { waiting: 0, ready: 0, processing: 0, done: 0, failed: 0, skipped: 0, cancelled: 0 };

it('names the state of a task as people see it', () => {
  expect(taskState({ status: 'READY', waiting: true })).toBe('WAITING');
  expect(taskState({ status: 'READY', waiting: false })).toBe('READY');
  expect(taskState({ status: 'PROCESSING', waiting: false })).toBe('RUNNING');
  expect(taskState({ status: 'FAILED', waiting: false })).toBe('FAILED');
});

it('counts the tasks by state, and those that are open', () => {
  expect(stateCounts(COUNTS).reduce((sum, { value }) => sum + value, 0)).toBe(18);
  expect(stateCounts(NONE).map(({ label }) => label)).toEqual(['done']);
  expect(openTasks(COUNTS)).toBe(6);
});

it('knows what a retry runs again: not what its own condition skipped', () => {
  const task = (status: string, skippedBy: string | null = null) => ({ status, skippedBy }) as never;
  const tasks = [
    task('DONE'),
    task('FAILED'),
    task('CANCELLED'),
    task('SKIPPED', 'cascade'),
    task('SKIPPED', 'condition'),
  ];
  expect(runAgain({ counts: { ...NONE, done: 1, failed: 1, cancelled: 1, skipped: 2 }, tasks })).toEqual({
    count: 3,
    text: '1 failed, 1 cancelled, 1 skipped because of others',
  });
  expect(runAgain({ counts: NONE, tasks: [] })).toEqual({ count: 0, text: '' });
});

it('writes the critical path, a long one without its middle', () => {
  expect(chainText(['load', 'fx', 'settle'])).toBe('load → fx → settle');
  expect(chainText(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'])).toBe('a → b → c → 3 more → g → h → i');
  expect(pathTimeText({ ms: 2_300, leftMs: 800 })).toBe('2.3 s, 800 ms left');
  expect(pathTimeText({ ms: 2_300, leftMs: 0 })).toBe('2.3 s');
});

it('finds whom a task waits for, and the edges of a path', () => {
  const edges = [
    ['a', 'c'],
    ['b', 'c'],
  ] as const;
  expect(parentsOf(edges).get('c')).toEqual(['a', 'b']);
  expect(parentsOf(null).size).toBe(0);
  expect([...edgesOfPath(['a', 'b', 'c'])]).toEqual([edgeName(['a', 'b']), edgeName(['b', 'c'])]);
  expect(edgesOfPath(['a']).size).toBe(0);
});
