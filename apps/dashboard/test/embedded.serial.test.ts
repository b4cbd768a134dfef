import { looks } from './looks.js';
import { pagesContract } from './pages-contract.js';

pagesContract('embedded', { looks });
