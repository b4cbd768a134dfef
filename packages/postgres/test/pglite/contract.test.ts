import { databaseContract } from '../contract/index.js';
import { pglitePlace } from '../support.js';

databaseContract('PGlite', pglitePlace);
