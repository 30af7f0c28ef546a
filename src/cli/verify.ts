import { stderr, stdout } from 'node:process'
import { readVariables } from '../config/env.ts'
import { loadConfiguration } from '../config/index.ts'
import { verifyLedger } from '../ledger/index.ts'
import { type ChainBreak, verifyAuditLog } from '../platform/audit/index.ts'
import type { Command } from './command.ts'
import { progressBar, withSpinner } from './progress.ts'
import { withExistingStore } from './store.ts'

const describeBreak = ({ sequence, bizId, reason }: ChainBreak): string => {
  if (sequence === 0 && bizId === null) return `the head of the chain is ${reason}`
  return bizId === null ? `entry ${sequence} is ${reason}` : `entry ${sequence} (${bizId}) is ${reason}`
}

export const auditVerify: Command = {
  name: 'audit verify',
  summary: 'follow the hash chain of the audit log, and name the first entry that breaks it',
  help: [
    'Exit code 0 when every sealed entry is what was sealed, 1 otherwise. Reads only; what has been written in the last',
    'moments and is not sealed yet is not judged. The embedded store belongs to one process: stop the gateway first.',
  ].join('\n'),
  options: {},
  run: async () => {
    const settings = loadConfiguration(readVariables())
    const { entriesChecked, broken } = await withExistingStore(settings, ({ database }) =>
      verifyAuditLog(database, progressBar(stderr)),
    )
    if (!broken) stdout.write(`intact: ${entriesChecked} entries\n`)
    else
      stdout.write(
        `${stderr.isTTY ? '\n' : ''}BROKEN: ${describeBreak(broken)}; the ${entriesChecked} entries before it are intact\n`,
      )
    return broken ? 1 : 0
  },
}

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
