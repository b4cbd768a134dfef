import { describe, expect, it } from 'vitest';
import { BATCH_ROUTES, DAG_ROUTES, type HttpRoute, SCHEDULE_ROUTES } from '../src/index.js';
import { expectStrict, rowOf } from './rows.js';

const ROUTES: readonly HttpRoute[] = Object.values({ ...BATCH_ROUTES, ...DAG_ROUTES, ...SCHEDULE_ROUTES });

describe('the routes of batches, DAGs and schedules', () => {
  it('are those of the specification, with who may ask them', () => {
    expect(ROUTES.map(rowOf).toSorted()).toEqual([
      'DELETE /api/schedules/{name} admin own audited',
      'GET /api/batches read own',
      'GET /api/batches/{batchId} read own',
      'GET /api/batches/{batchId}/tasks read own',
      'GET /api/dags read open',
      'GET /api/schedules read own',
      'POST /api/batches operate own',
      'POST /api/batches/{batchId}/abort operate own audited',
      'POST /api/batches/{batchId}/retry operate own audited',
      'POST /api/batches/{batchId}/tasks/{taskKey}/retry operate own audited',
      'POST /api/dags admin shared audited',
      'POST /api/schedules admin own audited',
    ]);
  });

  it('have schemas that can be written as JSON Schema; requests are strict', () => expectStrict(ROUTES));
});
