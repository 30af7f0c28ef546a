import { argv, exit, stdout } from 'node:process'
import { reportError, runCommand } from './cli/run.ts'
import { exitOnSignals } from './cli/signals.ts'
import { bankingDomains } from './domains/index.ts'

exitOnSignals()

/** A closed pipe, for example with `head`, is a success. Every other write error is a failure. */
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return
  process.exitCode = reportError(error)
})

const code = await runCommand(argv.slice(2), bankingDomains)
if (code !== 0) exit(code)
