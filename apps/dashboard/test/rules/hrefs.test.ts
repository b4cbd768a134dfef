import { VIEWS, type ViewId } from '@millrace/contract/server-client';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hrefOf, viewAt } from '../../src/rules/hrefs.js';

describe('addresses', () => {
  it('of views lead back to them', () => {
    for (const id of Object.keys(VIEWS) as ViewId[]) {
      const params = { groupId: 'acme/mail', jobId: 'j-1', batchId: '7', opId: 'x', sessionId: 's' };
      const place = viewAt(hrefOf(id as 'job', params));
      expect(place?.id).toBe(id);
      for (const [name, value] of Object.entries(place?.params ?? {}))
        expect(value).toBe(params[name as keyof typeof params]);
    }
  });

  it('carry any id, whatever is in it', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (sessionId) => {
        expect(viewAt(hrefOf('chatSession', { sessionId }))).toEqual({
          id: 'chatSession',
          params: { sessionId },
        });
      }),
    );
  });

  it('carry filters, those only that are set', () => {
    expect(hrefOf('groups', undefined, { status: 'RUNNING', tenantId: '', id: undefined })).toBe(
      '/groups?status=RUNNING',
    );
    expect(hrefOf('deadLetters', undefined, { signature: 'a b&c' })).toBe('/dead-letters?signature=a+b%26c');
  });

  it('that are none name nothing; broken ones harm nobody', () => {
    for (const path of ['/nothing', '/groups/a/b', '/groups//jobs', '/api/docs'])
      expect(viewAt(path)).toBeUndefined();
    expect(viewAt('/groups/%E0%A4%A')).toEqual({ id: 'group', params: { groupId: '%E0%A4%A' } });
    expect(viewAt('/groups/')).toEqual({ id: 'groups', params: {} });
  });
});
