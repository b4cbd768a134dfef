import { ManualClock } from '@millrace/testkit';
import { MemoryOperationStore } from '../../src/memory/store.js';
import { operationStoreContract } from './store-contract.js';

operationStoreContract({
  kind: 'memory',
  async open() {
    const clock = new ManualClock();
    let store = new MemoryOperationStore({ clock });
    return {
      get store() {
        return store;
      },
      clear: async () => {
        store = new MemoryOperationStore({ clock });
      },
      moveTime: async (ms) => clock.jump(ms),
      transaction: (fn) => fn(undefined),
      close: () => store.stop(),
    };
  },
});
