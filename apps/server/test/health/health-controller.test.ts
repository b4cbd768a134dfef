import type { HealthBody } from '@millrace/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import { HealthController } from '../../src/health/health-controller.js';
import type { Readiness } from '../../src/health/readiness.js';
import { type Caller, noteCaller } from '../../src/security/caller.js';

const SEEN: HealthBody = {
  ok: false,
  checks: [{ name: 'database', ok: false, message: 'connect ECONNREFUSED 10.1.2.3:5432', since: null }],
};

async function told(caller: Omit<Caller, 'name'>) {
  const controller = new HealthController({ look: async () => SEEN } as Readiness);
  const request = {} as FastifyRequest;
  noteCaller(request, { name: 'anyone', ...caller });
  let status = 0;
  const answered = (code: number) => {
    status = code;
  };
  const reply = { status: answered } as unknown as FastifyReply;
  return { body: await controller.ready(request, reply), status };
}

describe('readiness', () => {
  it('says what is wrong to those who run the server', async () => {
    expect(await told({ role: 'read', tenant: undefined })).toEqual({ status: 503, body: SEEN });
  });

  it.each([
    ['nobody in particular', { role: 'none', tenant: undefined }],
    ['a customer', { role: 'admin', tenant: 'acme' }],
  ] as const)('tells %s that something is wrong, and no addresses', async (_, caller) => {
    const { status, body } = await told(caller);
    expect(status).toBe(503);
    expect(body.checks).toEqual([{ name: 'database', ok: false, message: null, since: null }]);
  });
});
