import { stderr, stdout } from 'node:process'
import { readVariables } from '../config/env.ts'
import { loadConfiguration } from '../config/index.ts'
import { verifyLedger } from '../ledger/index.ts'
import type { Command } from './command.ts'
import { withSpinner } from './progress.ts'
import { withExistingStore } from './store.ts'

export const ledgerVerify: Command = {
  name: 'ledger verify',
  summary: 'check the whole book, and name the first discrepancy',
  help: [
    'Exit code 0 when the book adds up, 1 otherwise. Reads only. The embedded store belongs to one process: stop the',
    'gateway first; a running one says the same at /health/ready and in its metrics.',
  ].join('\n'),
  options: {},
  run: async () => {
    const settings = loadConfiguration(readVariables())
    const broken = await withExistingStore(settings, ({ withoutTimeouts }) =>
      withSpinner(stderr, 'checking the book', () => withoutTimeouts(verifyLedger)),
    )
    if (!broken) stdout.write('the book adds up\n')
    else stdout.write(`BROKEN: ${broken.rule}, first at ${broken.subject} (${broken.violations} violations)\n`)
    return broken ? 1 : 0
  },
}
