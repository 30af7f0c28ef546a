import { z } from 'zod'
import { loadConfiguration } from '../config/index.ts'
import { auditHeadPattern } from '../kernel/index.ts'
import { verifyLedger } from '../ledger/index.ts'
import {
  type ChainBreak,
  findHead,
  formatHead,
  type HeadPlace,
  parseHead,
  readStart,
  verifyAuditLog,
} from '../platform/audit/index.ts'
import { type Command, parseOptions } from './command.ts'
import { progressBar, withSpinner } from './progress.ts'
import { withExistingStore } from './store.ts'

const VerifyOptions = z.object({
  head: z
    .string()
    .regex(auditHeadPattern, '--head must be sequence:hash, as `audit verify` prints it')
    .transform(parseHead)
    .optional(),
})

export const auditVerify: Command = {
  name: 'audit verify',
  summary: 'verify the hash chain of the audit log',
  help: [
    '  --head sequence:hash     head that an earlier run printed; the log must still have this entry',
    '',
    'Exit code 0 if every sealed entry is unchanged, 1 otherwise. Prints the head, which is the number and the hash of the',
    'last entry, or else the first entry that breaks the chain. Note the head outside the store. Changes nothing. Does',
    'not check the newest entries, which are not sealed yet. The embedded store can be used by one process only: stop',
    'the gateway first.',
  ].join('\n'),
  options: { head: { type: 'string' } },
  run: async (values, { domains, variables, print, stderr }) => {
    const { head: expected } = parseOptions(VerifyOptions, values)
    const settings = loadConfiguration(variables, domains)
    const showProgress = progressBar(stderr)
    return withExistingStore(settings, async ({ database }) => {
      const { entriesChecked, broken, head } = await verifyAuditLog(database, ({ sequence }, total) =>
        showProgress(sequence, total),
      )
      const start = await readStart(database)
      const expectedHead = !broken && expected ? await findHead(database, expected, head) : null
      const isIntact = !broken && (expectedHead ?? 'FOUND') === 'FOUND'
      const lines = broken
        ? [`BROKEN: ${describeBreak(broken)}; the ${entriesChecked} entries before it are intact`]
        : [describeVerdict(expectedHead, expected?.sequence, entriesChecked), `head: ${formatHead(head)}`]
      if (start.sequence > 0) lines.push(`entries up to ${formatHead(start)} are archived`)
      print(
        {
          intact: isIntact,
          archived: start.sequence > 0 ? formatHead(start) : null,
          entriesChecked,
          broken,
          head: broken ? null : formatHead(head),
          expectedHead,
        },
        `${!isIntact && stderr.isTTY ? '\n' : ''}${lines.join('\n')}\n`,
      )
      return isIntact ? 0 : 1
    })
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
  run: async (_values, { domains, variables, print, stderr }) => {
    const settings = loadConfiguration(variables, domains)
    const broken = await withExistingStore(settings, ({ withoutTimeouts }) =>
      withSpinner(stderr, 'checking the ledger', () => withoutTimeouts(verifyLedger)),
    )
    print(
      { consistent: !broken, broken: broken ?? null },
      broken
        ? `BROKEN: ${broken.rule}, first at ${broken.subject} (${broken.violations} violations)\n`
        : 'the ledger is consistent\n',
    )
    return broken ? 1 : 0
  },
}

function describeBreak({ sequence, bizId, reason }: ChainBreak): string {
  if (sequence === 0 && bizId === null) return `the head of the chain is ${reason}`
  return bizId === null ? `entry ${sequence} is ${reason}` : `entry ${sequence} (${bizId}) is ${reason}`
}

function describeVerdict(place: HeadPlace | null, expected: number | undefined, entries: number): string {
  if (place === 'MISSING' && expected !== undefined && expected <= entries)
    return `ARCHIVED: entry ${expected} left the store; compare its hash with the archive`
  if (place === 'MISSING') return `INCOMPLETE: the log ends at ${entries}, but the head is ${expected}`
  if (place === 'DIFFERENT') return `REPLACED: entry ${expected} has another hash than the head`
  return `intact: ${entries} entries`
}
