import { bulkStoreContract } from '../store-contract-suite.js';
import { openMemory } from './open-memory.js';

bulkStoreContract('memory', async (config) => openMemory(config));
