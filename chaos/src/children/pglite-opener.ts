/* A process that tries to open an embedded database, and writes down what it was told. */

import { toWorkError } from '@millrace/foundation';
import { PgliteDatabase } from '@millrace/postgres';
import { openLedger } from '@millrace/testkit/ledger';

const [dataDir = '', ledgerPath = '', owner = ''] = process.argv.slice(2);
const ledger = openLedger(ledgerPath);
const database = new PgliteDatabase({ dataDir });
try {
  await database.start();
  ledger.append({ kind: 'opened', owner: Number(owner) });
} catch (error) {
  const { code, message } = toWorkError(error);
  ledger.append({ kind: 'not-opened', owner: Number(owner), code, message: message.slice(0, 500) });
} finally {
  await database.stop();
}
