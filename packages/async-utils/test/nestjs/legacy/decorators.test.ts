import { decoratorSuite } from '../decorators-suite.js';
import { limitSuite } from '../limits-suite.js';

decoratorSuite('legacy');
limitSuite('legacy');
