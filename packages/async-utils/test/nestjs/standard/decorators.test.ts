import * as classes from '../classes.js';
import { decoratorSuite } from '../decorators-suite.js';

decoratorSuite('standard', classes);
