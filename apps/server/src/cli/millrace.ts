#!/usr/bin/env node
import { runProcess } from './run-cli.js';

await runProcess(process.argv.slice(2));
