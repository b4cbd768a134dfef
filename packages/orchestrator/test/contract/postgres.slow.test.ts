import { databasePlace } from '../open-store.js';
import { operationStoreContract } from './store-contract.js';

operationStoreContract(databasePlace('postgres'));
