import * as classes from '../classes.js';
import { decoratorSuite } from '../decorators-suite.js';
import { MISUSES } from '../misuses.js';

decoratorSuite('standard', classes, MISUSES);
