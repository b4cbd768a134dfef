import * as classes from '../classes.js';
import { decoratorSuite } from '../decorators-suite.js';
import { MISUSES } from '../misuses.js';

decoratorSuite('legacy', classes, MISUSES);
