import { pagesContract } from './pages-contract.js';

pagesContract('on Redis and PostgreSQL');
