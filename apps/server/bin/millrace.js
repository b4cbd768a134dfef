#!/usr/bin/env node
import module from 'node:module';

// From 22.1 on, Node keeps what it has compiled: later starts take less.
module.enableCompileCache?.();
// Not the built file itself: npm links no command that is not there yet when a clone is installed.
await import('../dist/cli/millrace.js');
