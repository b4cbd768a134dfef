import { describe, expect, it } from 'vitest';
import { defineRoutes, inline } from '../src/define-routes.js';
import { answered, command, freezable, openWorld } from './world.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${TRACE}-b7ad6b7169203331-01`;

/** Writes a line; ends with the first try, or only when it is told to stop. */
const routesOf = (endless: boolean) =>
  defineRoutes({
    'ORDER.PLACE': inline((_, { log, signal }) => {
      log.info({}, 'from the handler');
      if (!endless) return null;
      return new Promise((__, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    }),
  });

describe('the trace of an operation in the log', () => {
  it('orchestrator NFR-4: stands in every line about it, and in the log of its handler', async () => {
    const world = openWorld();
    const { service } = await world.open(routesOf(false));
    const { opId } = await answered(world.clock, service.submit(command('b'), 200, { traceparent }));
    expect(world.lines.map(({ message }) => message)).toEqual([
      'Operation accepted',
      'from the handler',
      'Operation answered with its outcome',
    ]);
    for (const { fields } of world.lines) expect(fields).toMatchObject({ opId, traceId: TRACE });
    await answered(world.clock, service.stop());
  });

  it('orchestrator NFR-4: stands in the lines of those who did not accept it', async () => {
    const world = openWorld();
    const frozen = freezable(world.store);
    const dying = await world.open(routesOf(true), { store: frozen.store });
    const submitted = dying.service.submit(command('b'), 200, { traceparent });
    const { opId } = await answered(world.clock, submitted);
    frozen.freeze();
    const other = await world.open(routesOf(true));
    await world.clock.advance(61_000);
    await other.service.operations.cancel(opId);
    const about = world.lines.filter(({ fields }) => fields.opId === opId);
    expect(about.map(({ message }) => message)).toEqual(
      expect.arrayContaining(['Lease of an operation expired', 'Operation cancelled']),
    );
    for (const { fields } of about) expect(fields).toMatchObject({ traceId: TRACE });
    frozen.thaw();
    await Promise.all([dying, other].map(({ service }) => answered(world.clock, service.stop(), 20_000)));
  });

  it('orchestrator NFR-4: there is no such field without a well-formed trace context, which is not kept either', async () => {
    const world = openWorld();
    const { service } = await world.open(routesOf(false));
    for (const given of [undefined, 'who knows', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`]) {
      const { opId } = await answered(world.clock, service.submit(command('b'), 200, { traceparent: given }));
      expect(await service.operations.get(opId)).toMatchObject({ traceparent: undefined });
    }
    expect(world.lines).toHaveLength(9);
    for (const { fields } of world.lines) expect(fields).not.toHaveProperty('traceId');
    await answered(world.clock, service.stop());
  });
});
