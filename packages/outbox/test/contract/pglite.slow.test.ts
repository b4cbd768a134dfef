import { pglitePlace } from '../open-outbox.js';
import { outboxContract } from './contract-suite.js';

outboxContract(pglitePlace);
