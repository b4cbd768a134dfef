#!/usr/bin/env node
// Not the built file itself: npm links no command that is not there yet when a clone is installed.
import '../dist/cli/millrace.js';
