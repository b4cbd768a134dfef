import { postgresPlace } from '../open-outbox.js';
import { outboxContract } from './contract-suite.js';

outboxContract(postgresPlace);
