import { ROUTES } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import { demoRole, firstCommand } from '../../src/rules/first-steps.js';

const ORIGIN = 'http://127.0.0.1:3000';

describe('how to begin', () => {
  it('is a group of a tenant that the key may name', () => {
    const command = (seesAll: boolean) => firstCommand({ origin: ORIGIN, needsKey: false, seesAll });
    expect(command(true)).toContain('"group":{"id":"first","tenantId":"you"}');
    expect(command(false)).toContain('"group":{"id":"first"}');
  });

  it('is a command with a key only where one is needed', () => {
    const command = (needsKey: boolean) => firstCommand({ origin: ORIGIN, needsKey, seesAll: true });
    expect(command(true)).toContain('-H "Authorization: Bearer $MILLRACE_API_KEY"');
    expect(command(false)).not.toContain('Authorization');
    expect(command(false)).toMatch(/^curl http:\/\/127\.0\.0\.1:3000\/api\/bulk\/groups \\\n/);
  });

  it('is a demo for whom the contract names, and on an embedded server for whoever changes work', () => {
    expect(demoRole(false)).toBe(ROUTES.startDemo.role);
    expect(demoRole(true)).toBe('operate');
  });
});
