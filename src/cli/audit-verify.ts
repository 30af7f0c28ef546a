import { stderr, stdout } from 'node:process'
import { readVariables } from '../config/env.ts'
import { loadConfiguration } from '../config/index.ts'
import { type ChainBreak, verifyAuditLog } from '../platform/audit/index.ts'
import type { Command } from './command.ts'
import { progressBar } from './progress.ts'
import { withExistingStore } from './store.ts'

const describe = ({ sequence, bizId, reason }: ChainBreak): string => {
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
        `${stderr.isTTY ? '\n' : ''}BROKEN: ${describe(broken)}; the ${entriesChecked} entries before it are intact\n`,
      )
    return broken ? 1 : 0
  },
}
