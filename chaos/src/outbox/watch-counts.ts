import { wait } from '@millrace/async-utils';
import { asking } from '../postgres.js';
import { some, type Verdict } from '../registry.js';

const LOOK_EVERY_MS = 500;

/**
 * Tasks that wait in batches that run: what they wait for, recomputed from the states of their parents, edges of added tasks included, beside
 * what is counted in their rows and in ticks. One statement, so everything is as it was at one moment.
 */
const WAITING = `
  WITH waiting AS (
    SELECT e.* FROM millrace.outbox_evt e JOIN millrace.batch_instance b ON b.id = e.batch_id
    WHERE b.status = 'RUNNING' AND NOT b.failing AND e.status = 'READY' AND e.started_at IS NULL
  ), edges AS (
    SELECT w.id, w.batch_id, d.from_key FROM waiting w JOIN millrace.task_dep d ON d.version = w.dag_version AND d.to_key = w.task_key
    UNION ALL
    SELECT w.id, w.batch_id, o.from_key FROM waiting w JOIN millrace.outbox_dep o ON o.batch_id = w.batch_id AND o.to_key = w.task_key
  ), parents AS (
    SELECT d.id, count(*)::int AS all_cnt,
      count(*) FILTER (WHERE p.status IN ('READY', 'PROCESSING'))::int AS open_cnt,
      count(*) FILTER (WHERE p.status = 'DONE' OR (p.status = 'FAILED' AND p.on_failure = 'continue'))::int AS ok_cnt,
      count(*) FILTER (WHERE p.status = 'SKIPPED' OR (p.status = 'FAILED' AND p.on_failure = 'skip'))::int AS end_cnt
    FROM edges d JOIN millrace.outbox_evt p ON p.batch_id = d.batch_id AND p.task_key = d.from_key GROUP BY d.id
  ), ticks AS (
    SELECT batch_id, task_key, sum(ok_cnt)::int AS ok_cnt, sum(end_cnt)::int AS end_cnt FROM millrace.outbox_tick
    WHERE task_key IS NOT NULL GROUP BY batch_id, task_key
  ), compared AS (
    SELECT w.batch_id || '#' || w.task_key AS name, coalesce(p.open_cnt, 0) AS open,
      w.open_cnt - coalesce(t.end_cnt, 0) AS open_noted, greatest(0, w.pre_cnt - coalesce(t.ok_cnt, 0)) AS pre_noted,
      greatest(0, CASE WHEN f."join" IN ('any', 'at-least') THEN f.need_cnt ELSE coalesce(p.all_cnt, 0) END
        - coalesce(p.ok_cnt, 0) - CASE WHEN f."join" = 'all-done' THEN coalesce(p.end_cnt, 0) ELSE 0 END) AS pre
    FROM waiting w
    LEFT JOIN parents p ON p.id = w.id
    LEFT JOIN millrace.task_def f ON f.version = w.dag_version AND f.task_key = w.task_key
    LEFT JOIN ticks t ON t.batch_id = w.batch_id AND t.task_key = w.task_key
  )
  SELECT count(*)::int AS looked, coalesce(array_agg(format(
    '%s says pre_cnt %s, open_cnt %s instead of %s, %s', name, pre_noted, open_noted, pre, open
  )) FILTER (WHERE pre <> pre_noted OR open <> open_noted), '{}') AS wrong
  FROM compared`;

/** Batches that run: tasks that have not ended, beside what is counted in their rows and in ticks. */
const RUNNING = `
  SELECT count(*)::int AS looked, coalesce(array_agg(format('batch %s says open_cnt %s instead of %s', id, noted, open))
    FILTER (WHERE noted <> open), '{}') AS wrong
  FROM (
    SELECT b.id,
      b.open_cnt - coalesce((SELECT sum(end_cnt) FROM millrace.outbox_tick t WHERE t.batch_id = b.id AND task_key IS NULL), 0) AS noted,
      (SELECT count(*) FROM millrace.outbox_evt e WHERE e.batch_id = b.id AND e.status IN ('READY', 'PROCESSING')) AS open
    FROM millrace.batch_instance b WHERE b.status = 'RUNNING'
  ) counts`;

/** What was seen of counts while batches ran. */
export interface CountsSeen {
  readonly looks: number;
  readonly tasks: number;
  readonly batches: number;
  readonly wrong: readonly string[];
}

/** Looks once at every count. */
export const lookAtCounts = (url: string): Promise<CountsSeen> =>
  asking(url, async (client) => {
    type Row = { readonly looked: number; readonly wrong: readonly string[] };
    const [tasks] = (await client.query<Row>(WAITING)).rows;
    const [batches] = (await client.query<Row>(RUNNING)).rows;
    if (!tasks || !batches) throw new Error('a count has one row');
    return {
      looks: 1,
      tasks: tasks.looked,
      batches: batches.looked,
      wrong: [...tasks.wrong, ...batches.wrong],
    };
  });

/** Looks over and over at what is counted while batches run, whatever is done to those who count. */
export async function watchCounts(url: string, over: AbortSignal): Promise<CountsSeen> {
  let seen: CountsSeen = { looks: 0, tasks: 0, batches: 0, wrong: [] };
  while (!over.aborted) {
    const look = await lookAtCounts(url).catch(() => undefined); // PostgreSQL may be away just now.
    if (look)
      seen = {
        looks: seen.looks + 1,
        tasks: seen.tasks + look.tasks,
        batches: seen.batches + look.batches,
        wrong: [...seen.wrong, ...look.wrong],
      };
    await wait(LOOK_EVERY_MS);
  }
  return seen;
}

/** Whatever is counted is what edges and states say, at every moment. */
export const checkCounts = ({ looks, tasks, batches, wrong }: CountsSeen): Verdict => ({
  invariant: 'counts are right at every look',
  held: wrong.length === 0 && tasks > 0 && batches > 0,
  evidence:
    wrong.length > 0
      ? some(wrong)
      : `${looks} looks, at ${tasks} waiting tasks and ${batches} running batches`,
});
