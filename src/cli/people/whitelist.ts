import { z } from 'zod'
import { loadConfigured } from '../../compose/extensions.ts'
import { migrateStore } from '../../compose/migrations.ts'
import { loadConfiguration } from '../../config/index.ts'
import { disableWhitelistByEmail } from '../../identity/index.ts'
import { systemClock, systemIds } from '../../platform/runtime/index.ts'
import { type Command, parseOptions, reasonHelp, reasonOption, reasonText } from '../command.ts'
import { auditCommand, withExistingStore } from '../store.ts'
import { parsePortal, portalHelp } from './account.ts'

const WhitelistOptions = z.object({
  email: z.string('--email is required: the e-mail address of the account'),
  portal: z.string(),
  reason: reasonText,
})

export const whitelistDisable: Command = {
  name: 'whitelist disable',
  summary: 'disable the IP whitelist of an account that locked itself out',
  help: [
    '  --email address          account; its list of addresses is kept, and its owner gets a mail',
    portalHelp,
    reasonHelp,
    '',
    'Verify the identity of the person who requests this: afterwards the account can sign in from any address, with its',
    'password and second factor. Running gateways apply the change within a second. The embedded store can be used by one',
    'process only: stop the gateway first, or use PostgreSQL.',
  ].join('\n'),
  options: { email: { type: 'string' }, portal: { type: 'string', default: 'CONSUMER' }, ...reasonOption },
  run: async (values, { domains, variables, print }) => {
    const settings = loadConfiguration(variables, domains)
    const { owners } = await loadConfigured(domains, settings)
    const { reason, email, portal: option } = parseOptions(WhitelistOptions, values)
    const portal = parsePortal(settings, option)
    const disabled = await withExistingStore(settings, async (store) => {
      await migrateStore(store, owners, settings)
      const { database } = store
      const ports = { database, clock: systemClock, ids: systemIds }
      return disableWhitelistByEmail(ports, { email, portal }, (tx, targetId) =>
        auditCommand(tx, { command: whitelistDisable.name, reason }, { targetId, detail: { portal } }),
      )
    })
    if (disabled === undefined) throw new Error(`${email} has no account on the ${portal} portal`)
    if (!disabled) throw new Error(`the whitelist of ${email} is not enabled; nothing was changed`)
    print({ email, portal }, `disabled the whitelist of ${email}\n`)
    return 0
  },
}
