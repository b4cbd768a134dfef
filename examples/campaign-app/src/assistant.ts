import type { BulkActionService } from '@millrace/bulk-action';
import type { ChatRuntime } from '@millrace/runtime/chat';

/** Mailings that one answer names. */
const NAMED_MAX = 10;

/**
 * Answers how far the mailings of the one who asks are, piece by piece. In an application of your own: a language model, such as
 * `OpenAiChatRuntime` of '@millrace/runtime/chat'.
 */
export const assistant = (bulk: BulkActionService): ChatRuntime => ({
  async *processEnqueuedTurn({ tenant, signal }) {
    const { items } = await bulk.listGroups({ tenant }, { limit: NAMED_MAX });
    yield items.length === 0 ? 'Nothing has been mailed yet.' : 'The latest mailings:';
    for (const { id, status, counts } of items) {
      if (signal.aborted) return;
      yield `\n${id}: ${counts.success} of ${counts.registered} sent, ${counts.failed} failed (${status})`;
    }
  },
});
