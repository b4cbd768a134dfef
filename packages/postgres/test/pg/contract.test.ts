import { databaseContract } from '../contract/index.js';
import { postgresPlace } from '../support.js';

databaseContract('PostgreSQL', postgresPlace);
