import { argv, exit, stderr, stdin, stdout } from 'node:process'
import { bankingDomains } from './banking/index.ts'
import { reportError, runCommand } from './cli/run.ts'
import { exitOnSignals } from './cli/signals.ts'
import { readVariables } from './config/env.ts'

exitOnSignals()

/** A reader such as `head` can close the pipe without a failure. */
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return
  process.exitCode = reportError(error, stderr)
})

const code = await runCommand(argv.slice(2), {
  domains: bankingDomains,
  variables: readVariables(),
  stdin,
  stdout,
  stderr,
})
if (code !== 0) exit(code)
