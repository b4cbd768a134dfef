import { expect, it } from 'vitest';
import { BulkActionModule, BulkActionService, BulkProcessor, type Job } from '../../../src/nestjs/index.js';
import { boot, ended, QUIET } from '../boot.js';

@BulkProcessor('MAIL', { timeoutMs: 5000 })
class Mailer {
  readonly sent: string[] = [];

  async process({ payload }: Job<string>): Promise<void> {
    this.sent.push(payload);
  }
}

it('bulk-action BA-17: @BulkProcessor works under standard rules', async () => {
  const app = await boot({ imports: [BulkActionModule.register(QUIET)], providers: [Mailer] });
  const service = app.get(BulkActionService);
  await service.submitBulk({ id: 'g' }, [{ processorType: 'MAIL', payload: 'ada' }]);
  await ended(service, 'g');
  expect(app.get(Mailer).sent).toEqual(['ada']);
});
