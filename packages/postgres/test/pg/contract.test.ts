import { databaseContract } from '../contract/index.js';
import { postgresPlace } from '../open-databases.js';

databaseContract('PostgreSQL', postgresPlace);
