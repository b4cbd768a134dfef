import { databaseContract } from '../contract/index.js';
import { pglitePlace } from '../open-databases.js';

databaseContract('PGlite', pglitePlace);
