import { loadConfiguration } from '../config/index.ts'
import { verifyLedger } from '../ledger/index.ts'
import { type ChainBreak, verifyAuditLog } from '../platform/audit/index.ts'
import type { Command } from './command.ts'
import { progressBar, withSpinner } from './progress.ts'
import { withExistingStore } from './store.ts'

export const auditVerify: Command = {
  name: 'audit verify',
  summary: 'verify the hash chain of the audit log',
  help: [
    'Exit code 0 if every sealed entry is unchanged, 1 otherwise. Prints the first entry that breaks the chain. Changes',
    'nothing. Does not check the newest entries, which are not sealed yet. The embedded store can be used by one process',
    'only: stop the gateway first.',
  ].join('\n'),
  options: {},
  run: async (_values, { domains, variables, stdout, stderr }) => {
    const settings = loadConfiguration(variables, domains)
    const showProgress = progressBar(stderr)
    const { entriesChecked, broken } = await withExistingStore(settings, ({ database }) =>
      verifyAuditLog(database, ({ sequence }, total) => showProgress(sequence, total)),
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
  summary: 'check the consistency of the whole ledger',
  help: [
    'Exit code 0 if the ledger is consistent, 1 otherwise. Prints the first discrepancy. Changes nothing. The embedded',
    'store can be used by one process only: stop the gateway first. A running gateway reports its own results',
    'at /health/ready and in its metrics.',
  ].join('\n'),
  options: {},
  run: async (_values, { domains, variables, stdout, stderr }) => {
    const settings = loadConfiguration(variables, domains)
    const broken = await withExistingStore(settings, ({ withoutTimeouts }) =>
      withSpinner(stderr, 'checking the ledger', () => withoutTimeouts(verifyLedger)),
    )
    if (!broken) stdout.write('the ledger is consistent\n')
    else stdout.write(`BROKEN: ${broken.rule}, first at ${broken.subject} (${broken.violations} violations)\n`)
    return broken ? 1 : 0
  },
}

function describeBreak({ sequence, bizId, reason }: ChainBreak): string {
  if (sequence === 0 && bizId === null) return `the head of the chain is ${reason}`
  return bizId === null ? `entry ${sequence} is ${reason}` : `entry ${sequence} (${bizId}) is ${reason}`
}
