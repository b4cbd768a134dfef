import { describe, expect, it } from 'vitest';
import { pathOf } from '../../src/nestjs/http.js';

const at = (url: string) => pathOf({ url, headers: {} });

describe('the path of a request', () => {
  it.each([
    ['/api/operations?x=/', '/api/operations'],
    ['/api/operations/#a', '/api/operations'],
    ['/a//b//', '/a//b'],
    ['/', ''],
  ])('%s → %s', (url, path) => expect(at(url)).toBe(path));

  it('is found quickly in a hostile URL', () => {
    const hostile = `/a${'/'.repeat(15_000)}b`;
    const from = process.cpuUsage();
    for (let i = 0; i < 20; i++) expect(at(hostile)).toBe(hostile);
    expect(process.cpuUsage(from).user / 1_000).toBeLessThan(1_500);
  });
});
