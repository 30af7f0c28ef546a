import { stdout } from 'node:process'
import { z } from 'zod'
import { schemaOwners } from '../compose/migrations.ts'
import { readVariables } from '../config/env.ts'
import { loadConfiguration } from '../config/index.ts'
import { disableWhitelistByEmail } from '../identity/index.ts'
import { portals } from '../kernel/index.ts'
import { systemClock, systemIds } from '../platform/runtime/index.ts'
import { type Command, parseOptions } from './command.ts'
import { auditCommand, withExistingStore } from './store.ts'

const Values = z.object({
  email: z.string('--email: the account’s e-mail address is needed'),
  portal: z.enum(portals, `--portal: one of ${portals.join(', ')}`),
})

export const whitelistDisable: Command = {
  name: 'whitelist disable',
  summary: 'let in an account that its own IP whitelist keeps out',
  help: [
    '  --email address          whose whitelist is put out of force; its addresses stay; the owner gets a mail',
    `  --portal name            ${portals.join(' or ')} (CONSUMER)`,
    '',
    'Be sure who asks: the password and the second factor are asked for as before, the address no longer. Running gateways',
    'go by it within a second. The embedded store belongs to one process: stop the gateway first, or use PostgreSQL.',
  ].join('\n'),
  options: { email: { type: 'string' }, portal: { type: 'string', default: 'CONSUMER' } },
  run: async (values) => {
    const settings = loadConfiguration(readVariables())
    const owner = parseOptions(Values, values)
    const { email, portal } = owner
    const lifted = await withExistingStore(settings, async ({ database, migrate }) => {
      await migrate(schemaOwners)
      const ports = { database, clock: systemClock, ids: systemIds }
      return disableWhitelistByEmail(ports, owner, (tx, targetId) =>
        auditCommand(tx, whitelistDisable.name, { targetId, detail: { portal } }),
      )
    })
    if (lifted === undefined) throw new Error(`${email} has no account on the ${portal} portal`)
    if (!lifted) throw new Error(`the whitelist of ${email} is not in force; nothing was changed`)
    stdout.write(`the whitelist of ${email} is out of force\n`)
    return 0
  },
}
