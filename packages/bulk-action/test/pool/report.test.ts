import { silentLogger } from '@millrace/foundation';
import { recordingLogger } from '@millrace/testkit';
import { describe, expect, it, vi } from 'vitest';
import { report } from '../../src/pool/report.js';

describe('report', () => {
  it('bulk-action BA-5: fields that are made for every job are made only for a line that is written', () => {
    const { log, lines } = recordingLogger();
    const fields = vi.fn(() => ({ job: 'j1' }));
    report(silentLogger, 'debug', fields, 'Job done');
    report({ ...log, isLevelEnabled: (level: string) => level !== 'debug' }, 'debug', fields, 'Job done');
    expect(fields).not.toHaveBeenCalled();
    report({ ...log, isLevelEnabled: () => true }, 'debug', fields, 'Job done');
    report(log, 'warn', { job: 'j2' }, 'Retry 1/3');
    expect(lines).toEqual([
      { level: 'debug', fields: { job: 'j1' }, message: 'Job done' },
      { level: 'warn', fields: { job: 'j2' }, message: 'Retry 1/3' },
    ]);
  });

  it('bulk-action BA-5: a logger or a field that throws ends nothing', () => {
    const { log } = recordingLogger();
    const hostile = () => {
      throw new Error('hostile');
    };
    expect(() => report(log, 'debug', hostile, 'x')).not.toThrow();
    expect(() => report({ ...log, info: hostile }, 'info', {}, 'x')).not.toThrow();
    expect(() => report({ ...log, isLevelEnabled: hostile }, 'info', {}, 'x')).not.toThrow();
  });
});
